//! Scaled dot-product attention.

use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        Bound, groups, groups_of,
        structs::{self, code, count},
    },
};
use binade_core::ops::{AttentionGrads, AttentionOutput};
use binade_core::{DType, cast::OnOverflow};
use binade_gpu::{AttentionKernels, Driver, Rounding};

type Attention<'a> = binade_gpu::Attention<'a, Wgpu>;

/// Lines and columns of a tile, as the shader's.
const TILE: usize = 32;

/// Sum that a dispatch computes, as the shader numbers them.
#[derive(Clone, Copy, Debug)]
enum Sum {
    Output,
    OfQuery,
    OfKey,
    OfValue,
}

/// Tensors of a sum besides query, key and mask.
#[derive(Clone, Copy)]
struct Given<'a> {
    value: &'a Tensor,
    grad: &'a Tensor,
    log_sums: &'a Tensor,
    means: &'a Tensor,
}

impl AttentionKernels for Wgpu {
    fn launch_attention(&self, of: &Attention<'_>, results: &AttentionOutput<Tensor>) -> Result {
        let AttentionOutput { output, log_sum_exp } = results;
        if log_sum_exp.is_empty() {
            return Ok(());
        }
        // Neither the gradient nor the means are read.
        let (grad, means) = (of.query, log_sum_exp);
        let (mut bound, params) = self.operands(of, of.value, grad)?;
        bound.push(self.whole(log_sum_exp)?.0);
        let tiles = of.places * of.rows.div_ceil(TILE);
        let shader = "scaled_dot_product_attention_log_sums";
        self.dispatch(shader, &params, bound, groups_of(tiles))?;
        let given = Given { value: of.value, grad, log_sums: log_sum_exp, means };
        self.sum(of, given, (Sum::Output, [of.rows, of.columns]), output)
    }

    fn launch_attention_backward(
        &self,
        of: &Attention<'_>,
        grad: &Tensor,
        [output, log_sums]: [&Tensor; 2],
        grads: &AttentionGrads<Tensor>,
    ) -> Result {
        let means = self.unset(DType::F32, log_sums.shape())?;
        if !means.is_empty() {
            let (value, value_start) = self.whole(output)?;
            let (of_grad, grad_start) = self.whole(grad)?;
            let bound = vec![value, of_grad, self.whole(&means)?.0];
            let starts = [0, 0, value_start, 0, grad_start];
            let params = structs::Attention { starts, ..params(of)? };
            let shader = "scaled_dot_product_attention_means";
            self.dispatch(shader, &params, bound, groups(means.len()))?;
        }
        let given = Given { value: of.value, grad, log_sums, means: &means };
        let [of_query, of_key] = [of.rows, of.keys].map(|lines| [lines, of.width]);
        self.sum(of, given, (Sum::OfQuery, of_query), &grads.query)?;
        self.sum(of, given, (Sum::OfKey, of_key), &grads.key)?;
        self.sum(of, given, (Sum::OfValue, [of.keys, of.columns]), &grads.value)
    }
}

impl Wgpu {
    /// Computes a sum of these lines and columns.
    fn sum(
        &self,
        of: &Attention<'_>,
        given: Given<'_>,
        (sum, [lines, columns]): (Sum, [usize; 2]),
        to: &Tensor,
    ) -> Result {
        if to.is_empty() {
            return Ok(());
        }
        // Lines of halves begin at whole words if their length is even; others are rounded in a pass of their own.
        if to.dtype() != DType::F32 && !columns.is_multiple_of(2) {
            let wide = self.unset(DType::F32, to.shape())?;
            self.sum(of, given, (sum, [lines, columns]), &wide)?;
            return self.cast_into(&wide, to, Rounding::Nearest(OnOverflow::NonFinite));
        }
        let (mut bound, params) = self.operands(of, given.value, given.grad)?;
        let (log_sums, log_sums_start) = self.whole(given.log_sums)?;
        bound.extend([log_sums, self.whole(given.means)?.0, self.whole(to)?.0]);
        let to = code("attend to", to.dtype())?;
        let params = structs::Attention { to, result: sum as u32, log_sums_start, ..params };
        let tiles = of.places * lines.div_ceil(TILE) * columns.div_ceil(TILE);
        self.dispatch("scaled_dot_product_attention", &params, bound, groups_of(tiles))
    }

    /// Binds query, key, value, mask and gradient. Also returns the parameters, with the places where these begin.
    fn operands(
        &self,
        of: &Attention<'_>,
        value: &Tensor,
        grad: &Tensor,
    ) -> Result<(Vec<Bound>, structs::Attention)> {
        // Something must be bound for the mask.
        let mask = of.mask.unwrap_or(of.query);
        let operands = [of.query, of.key, value, mask, grad];
        let bound = operands.map(|operand| self.whole(operand));
        let (bound, starts): (Vec<_>, Vec<_>) =
            bound.into_iter().collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let starts = [starts[0], starts[1], starts[2], starts[3], starts[4]];
        Ok((bound, structs::Attention { starts, ..params(of)? }))
    }
}

/// Returns the parameters without the places where operands begin.
fn params(of: &Attention<'_>) -> Result<structs::Attention> {
    let dtype = code("attend in", of.query.dtype())?;
    Ok(structs::Attention {
        dtype,
        mask_dtype: of.mask.map_or(Ok(dtype), |mask| code("mask by", mask.dtype()))?,
        places: count(of.places),
        rows: count(of.rows),
        keys: count(of.keys),
        width: count(of.width),
        columns: count(of.columns),
        causal: of.causal.into(),
        factor: of.factor,
        has_mask: of.mask.is_some().into(),
        mask_has_rows: of.mask_layout.has_rows.into(),
        repeats: count(of.mask_layout.repeats),
        matrices: count(of.mask_layout.count),
        ..structs::Attention::default()
    })
}
