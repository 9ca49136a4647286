//! Normalisation over the last axis.

use super::{
    bias_add::{Channels, PART},
    roles::Role,
    rows::{NUMBERS, PARAMS, Rows},
};
use crate::{
    Error, Tensor, Wgpu,
    dispatch::{
        GROUP, groups,
        structs::{self, code, count},
    },
    shaders::{
        Access::{Read, Write},
        Shader,
    },
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{Fill, LayerNorm, NormGrads, operands, shape};

pub(super) const SHADERS: &[&Shader] = &[
    &LAYER_NORM_NUMBERS,
    &LAYER_NORM,
    &LAYER_NORM_BACKWARD_NUMBERS,
    &LAYER_NORM_BACKWARD,
    &LAYER_NORM_COLUMNS,
];

const LAYER_NORM_NUMBERS: Shader =
    Shader { name: "layer_norm_numbers", file: "layer_norm", params: PARAMS, bindings: NUMBERS };
const LAYER_NORM: Shader = Shader {
    name: "layer_norm",
    bindings: &[(1, Read), (3, Write), (4, Read), (5, Read), (6, Read)],
    ..LAYER_NORM_NUMBERS
};
const LAYER_NORM_BACKWARD_NUMBERS: Shader = Shader {
    name: "layer_norm_backward_numbers",
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Read), (5, Read)],
    ..LAYER_NORM_NUMBERS
};
const LAYER_NORM_BACKWARD: Shader = Shader {
    name: "layer_norm_backward",
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Read), (5, Read), (6, Read)],
    ..LAYER_NORM_NUMBERS
};
const LAYER_NORM_COLUMNS: Shader = Shader {
    name: "layer_norm_columns",
    bindings: &[(1, Read), (2, Read), (3, Write), (4, Read)],
    ..LAYER_NORM_NUMBERS
};

impl LayerNorm for Wgpu {
    fn layer_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        eps: f32,
    ) -> Result<Tensor, Error> {
        shape::layer_norm(input.shape(), weight.shape(), bias.shape())?;
        let (dtype, _) = operands::norm(Op::LAYER_NORM, input, &[weight, bias])?;
        self.has_made_all(&[input, weight, bias])?;
        let result = self.unset(dtype, input.shape())?;
        if result.is_empty() {
            return Ok(result);
        }
        let stats = self.stats_of_rows(input, eps)?;
        let operands = [
            (input, Role::A),
            (&result, Role::Own),
            (&stats, Role::Own),
            (weight, Role::Weight),
            (bias, Role::Bias),
        ];
        let groups = groups(result.len().div_ceil(GROUP));
        self.norm(&LAYER_NORM, &operands, params(input, weight, eps)?, groups)?;
        Ok(result)
    }

    fn layer_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let shape = shape::layer_norm(input.shape(), weight.shape(), weight.shape())?;
        let (dtype, _) = operands::norm(Op::LAYER_NORM, input, &[weight])?;
        operands::grad(Op::LAYER_NORM, grad, &shape, dtype)?;
        self.has_made_all(&[grad, input, weight])?;
        let (result, rows) = (self.unset(dtype, &shape)?, Rows::of(input));
        if result.is_empty() {
            let zeros = || self.fill(0.0, weight.shape(), weight.dtype());
            return Ok(NormGrads { input: result, weight: zeros()?, bias: zeros()? });
        }
        let (stats, params) = (self.stats_of_rows(input, eps)?, params(input, weight, eps)?);
        let means = self.unset(DType::F32, &[rows.count, 2])?;
        let of_rows = [
            (grad, Role::A),
            (input, Role::B),
            (&means, Role::Own),
            (&stats, Role::Own),
            (weight, Role::Weight),
        ];
        let teams = groups(rows.count * rows.team());
        self.norm(&LAYER_NORM_BACKWARD_NUMBERS, &of_rows, params, teams)?;
        let each = [
            (grad, Role::A),
            (input, Role::B),
            (&result, Role::Own),
            (&stats, Role::Own),
            (weight, Role::Weight),
            (&means, Role::Own),
        ];
        self.norm(&LAYER_NORM_BACKWARD, &each, params, groups(result.len().div_ceil(GROUP)))?;

        let parts = rows.count.div_ceil(PART);
        let sums = self.unset(DType::F32, &[parts, rows.width])?;
        let columns = [(grad, Role::A), (input, Role::B), (&sums, Role::Own), (&stats, Role::Own)];
        let of_sums = structs::Rows { len: count(sums.len()), ..params };
        self.norm(&LAYER_NORM_COLUMNS, &columns, of_sums, groups(sums.len()))?;
        let of = |outer| Channels { outer, count: rows.width, inner: 1 };
        Ok(NormGrads {
            input: result,
            weight: self.channel_sums(&sums, of(parts), weight.dtype())?,
            bias: self.channel_sums(grad, of(rows.count), weight.dtype())?,
        })
    }
}

/// Returns the parameters without the places where operands begin.
fn params(input: &Tensor, weight: &Tensor, eps: f32) -> Result<structs::Rows, Error> {
    let rows = Rows::of(input);
    Ok(structs::Rows {
        len: count(input.len()),
        dtype: code("layer_norm", input.dtype())?,
        parameter_dtype: code("layer_norm", weight.dtype())?,
        eps,
        ..rows.params(&(0..rows.count))
    })
}

impl Wgpu {
    /// Computes mean and `1 / √(var + eps)` of each row.
    fn stats_of_rows(&self, input: &Tensor, eps: f32) -> Result<Tensor, Error> {
        let rows = Rows::of(input);
        let result = self.unset(DType::F32, &[rows.count, 2])?;
        let grid = groups(rows.count * rows.team());
        let operands = [(input, Role::A), (&result, Role::Own)];
        self.norm(&LAYER_NORM_NUMBERS, &operands, params(input, input, eps)?, grid)?;
        Ok(result)
    }

    /// Dispatches a shader on whole operands.
    fn norm(
        &self,
        shader: &'static Shader,
        operands: &[(&Tensor, Role)],
        params: structs::Rows,
        groups: u32,
    ) -> Result<(), Error> {
        let (bound, starts) = self.whole_by_role(operands)?;
        let params = structs::Rows {
            starts: starts.operands,
            weight_start: starts.weight,
            bias_start: starts.bias,
            ..params
        };
        self.dispatch(shader, &params, bound, groups)
    }
}
