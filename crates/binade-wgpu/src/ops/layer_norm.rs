//! Normalisation over the last axis.

use super::{channels::PART, operands::by_group, roles::Role, rows};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        groups,
        structs::{self, code, count},
    },
};
use binade_core::DType;
use binade_gpu::{
    ChannelKernels, Channels, Driver, LayerNormKernels, NormBackward, PointwiseKernels, Rows,
};

impl LayerNormKernels for Wgpu {
    fn launch_layer_norm(&self, operands: [&Tensor; 3], eps: f32, result: &Tensor) -> Result {
        let [input, weight, bias] = operands;
        let stats = self.stats_of_rows(input, eps)?;
        let operands = [
            (input, Role::A),
            (result, Role::Own),
            (&stats, Role::Own),
            (weight, Role::Weight),
            (bias, Role::Bias),
        ];
        let params = params(input, weight, eps)?;
        self.norm("layer_norm", &operands, params, by_group(result.len()))
    }

    fn launch_layer_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result {
        let NormBackward { grad, input, weight, eps, grads } = *call;
        let rows = Rows::of(input);
        if input.is_empty() {
            self.launch_fill(0.0, &grads.weight)?;
            return self.launch_fill(0.0, &grads.bias);
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
        self.norm("layer_norm_backward_numbers", &of_rows, params, teams(rows))?;
        let each = [
            (grad, Role::A),
            (input, Role::B),
            (&grads.input, Role::Own),
            (&stats, Role::Own),
            (weight, Role::Weight),
            (&means, Role::Own),
        ];
        self.norm("layer_norm_backward", &each, params, by_group(input.len()))?;

        let parts = rows.count.div_ceil(PART);
        let sums = self.unset(DType::F32, &[parts, rows.width])?;
        let columns = [(grad, Role::A), (input, Role::B), (&sums, Role::Own), (&stats, Role::Own)];
        let of_sums = structs::Rows { len: count(sums.len()), ..params };
        self.norm("layer_norm_columns", &columns, of_sums, groups(sums.len()))?;
        let of = |outer| Channels { outer, count: rows.width, inner: 1 };
        self.launch_channel_sums(&sums, of(parts), &grads.weight)?;
        self.launch_channel_sums(grad, of(rows.count), &grads.bias)
    }
}

/// Returns the parameters without the places where operands begin.
fn params(input: &Tensor, weight: &Tensor, eps: f32) -> Result<structs::Rows> {
    let rows = Rows::of(input);
    Ok(structs::Rows {
        len: count(input.len()),
        dtype: code("layer_norm", input.dtype())?,
        parameter_dtype: code("layer_norm", weight.dtype())?,
        eps,
        ..rows::params(rows, &(0..rows.count))
    })
}

/// Returns the groups of a grid with a team for each row.
fn teams(rows: Rows) -> u32 {
    groups(rows.count * rows::team(rows.width))
}

impl Wgpu {
    /// Computes mean and `1 / √(var + eps)` of each row.
    fn stats_of_rows(&self, input: &Tensor, eps: f32) -> Result<Tensor> {
        let rows = Rows::of(input);
        let result = self.unset(DType::F32, &[rows.count, 2])?;
        let operands = [(input, Role::A), (&result, Role::Own)];
        self.norm("layer_norm_numbers", &operands, params(input, input, eps)?, teams(rows))?;
        Ok(result)
    }

    /// Dispatches a shader on whole operands.
    fn norm(
        &self,
        shader: &'static str,
        operands: &[(&Tensor, Role)],
        params: structs::Rows,
        groups: u32,
    ) -> Result {
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
