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
        let stats = self.stats_of_rows("layer_norm_numbers", input, eps)?;
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
        let of_bias = Channels { outer: Rows::of(input).count, count: weight.len(), inner: 1 };
        let stats = self.stats_of_rows("layer_norm_numbers", input, eps)?;
        let means = Means { shader: "layer_norm_backward_numbers", stats, eps };
        self.norm_backward([grad, input, weight], &means, [&grads.input, &grads.weight])?;
        if input.is_empty() {
            return self.launch_fill(0.0, &grads.bias);
        }
        self.launch_channel_sums(grad, of_bias, &grads.bias)
    }
}

/// Statistics of rows, and the shader that computes the means for their gradients.
pub(super) struct Means {
    pub(super) shader: &'static str,
    /// Mean and `1 / √(var + eps)` of each row.
    pub(super) stats: Tensor,
    pub(super) eps: f32,
}

/// Returns the parameters without the operands' offsets.
pub(super) fn params(input: &Tensor, weight: &Tensor, eps: f32) -> Result<structs::Rows> {
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
    /// Computes mean and `1 / √(var + eps)` of each row by this shader.
    pub(super) fn stats_of_rows(
        &self,
        shader: &'static str,
        input: &Tensor,
        eps: f32,
    ) -> Result<Tensor> {
        let rows = Rows::of(input);
        let result = self.unset(DType::F32, &[rows.count, 2])?;
        if !input.is_empty() {
            let operands = [(input, Role::A), (&result, Role::Own)];
            self.norm(shader, &operands, params(input, input, eps)?, teams(rows))?;
        }
        Ok(result)
    }

    /// Computes the gradients of input and weight; the weight's is 0 without rows.
    pub(super) fn norm_backward(
        &self,
        [grad, input, weight]: [&Tensor; 3],
        Means { shader, stats, eps }: &Means,
        [of_input, of_weight]: [&Tensor; 2],
    ) -> Result {
        if input.is_empty() {
            return self.launch_fill(0.0, of_weight);
        }
        let (rows, params) = (Rows::of(input), params(input, weight, *eps)?);
        let means = self.unset(DType::F32, &[rows.count, 2])?;
        let of_rows = [
            (grad, Role::A),
            (input, Role::B),
            (&means, Role::Own),
            (stats, Role::Own),
            (weight, Role::Weight),
        ];
        self.norm(shader, &of_rows, params, teams(rows))?;
        let each = [
            (grad, Role::A),
            (input, Role::B),
            (of_input, Role::Own),
            (stats, Role::Own),
            (weight, Role::Weight),
            (&means, Role::Own),
        ];
        self.norm("layer_norm_backward", &each, params, by_group(input.len()))?;

        let parts = rows.count.div_ceil(PART);
        let sums = self.unset(DType::F32, &[parts, rows.width])?;
        let columns = [(grad, Role::A), (input, Role::B), (&sums, Role::Own), (stats, Role::Own)];
        let of_sums = structs::Rows { len: count(sums.len()), ..params };
        self.norm("layer_norm_columns", &columns, of_sums, groups(sums.len()))?;
        let of = Channels { outer: parts, count: rows.width, inner: 1 };
        self.launch_channel_sums(&sums, of, of_weight)
    }

    /// Dispatches a shader on whole operands.
    pub(super) fn norm(
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
