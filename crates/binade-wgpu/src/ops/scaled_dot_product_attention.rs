//! Scaled dot-product attention.

use crate::{
    Error, Result, Tensor, Wgpu, WgpuError,
    dispatch::{
        Bound, MOST_ELEMENTS, groups, groups_of,
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

/// Tensors of a sum besides the operands.
#[derive(Clone, Copy)]
struct SumInputs<'a> {
    grad: &'a Tensor,
    statistics: &'a Tensor,
    means: &'a Tensor,
}

impl AttentionKernels for Wgpu {
    fn launch_attention(&self, of: &Attention<'_>, results: &AttentionOutput<Tensor>) -> Result {
        let AttentionOutput { output, statistics } = results;
        if statistics.is_empty() {
            return Ok(());
        }
        // Neither the gradient nor the means are read.
        let (grad, means) = (of.query, statistics);
        let (mut bound, params) = self.operands(of, grad)?;
        bound.push(self.whole(statistics)?.0);
        let tiles = of.places * of.rows.div_ceil(TILE);
        let shader = "scaled_dot_product_attention_statistics";
        self.dispatch(shader, &params, bound, groups_of(tiles))?;
        let inputs = SumInputs { grad, statistics, means };
        self.sum(of, inputs, (Sum::Output, [of.rows, of.columns]), output)
    }

    fn launch_attention_backward(
        &self,
        of: &Attention<'_>,
        grad: &Tensor,
        [output, statistics]: [&Tensor; 2],
        grads: &AttentionGrads<Tensor>,
    ) -> Result {
        let means = self.unset(DType::F32, &[of.places * of.rows])?;
        if !means.is_empty() {
            let (value, value_start) = self.whole(output)?;
            let (of_grad, grad_start) = self.whole(grad)?;
            let bound = vec![value, of_grad, self.whole(&means)?.0];
            let starts = [0, 0, value_start, 0, grad_start];
            let params = structs::Attention { starts, ..params(of)? };
            let shader = "scaled_dot_product_attention_means";
            self.dispatch(shader, &params, bound, groups(means.len()))?;
        }
        let inputs = SumInputs { grad, statistics, means: &means };
        let [of_query, of_key] = [of.rows, of.keys].map(|lines| [lines, of.width]);
        self.sum(of, inputs, (Sum::OfQuery, of_query), &grads.query)?;
        self.sum(of, inputs, (Sum::OfKey, of_key), &grads.key)?;
        self.sum(of, inputs, (Sum::OfValue, [of.keys, of.columns]), &grads.value)
    }
}

impl Wgpu {
    /// Computes a sum of these lines and columns.
    fn sum(
        &self,
        of: &Attention<'_>,
        inputs: SumInputs<'_>,
        (sum, [lines, columns]): (Sum, [usize; 2]),
        to: &Tensor,
    ) -> Result {
        if to.is_empty() {
            return Ok(());
        }
        // Lines of halves begin at whole words if their length is even; others are rounded in a pass of their own.
        if to.dtype() != DType::F32 && !columns.is_multiple_of(2) {
            let wide = self.unset(DType::F32, to.shape())?;
            self.sum(of, inputs, (sum, [lines, columns]), &wide)?;
            return self.cast_into(&wide, to, Rounding::Nearest(OnOverflow::NonFinite));
        }
        let (mut bound, params) = self.operands(of, inputs.grad)?;
        let (statistics, statistics_start) = self.whole(inputs.statistics)?;
        bound.extend([statistics, self.whole(inputs.means)?.0, self.whole(to)?.0]);
        let to = code("attend to", to.dtype())?;
        let params = structs::Attention { to, result: sum as u32, statistics_start, ..params };
        let tiles = of.places * lines.div_ceil(TILE) * columns.div_ceil(TILE);
        self.dispatch("scaled_dot_product_attention", &params, bound, groups_of(tiles))
    }

    /// Binds query, key, value, mask and gradient. Also returns the parameters, with the places where these begin.
    fn operands(
        &self,
        of: &Attention<'_>,
        grad: &Tensor,
    ) -> Result<(Vec<Bound>, structs::Attention)> {
        // The binding of the mask must not be empty.
        let mask = of.mask.unwrap_or(of.query);
        let mut starts = [0; 5];
        let mut bound = Vec::with_capacity(8);
        for (operand, start) in
            [of.query, of.key, of.value, mask, grad].into_iter().zip(&mut starts)
        {
            let (piece, before) = self.whole(operand)?;
            *start = before;
            bound.push(piece);
        }
        Ok((bound, structs::Attention { starts, ..params(of)? }))
    }
}

/// Returns the parameters without the operands' offsets.
fn params(of: &Attention<'_>) -> Result<structs::Attention> {
    // Empty operands may have extents that the shader does not count.
    for extent in [of.places, of.rows, of.keys, of.width, of.columns] {
        if extent >= MOST_ELEMENTS {
            let (bytes, most) = (extent, MOST_ELEMENTS as u64);
            return Err(Error::Driver(WgpuError::TooLarge { bytes, most }));
        }
    }
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
        scale: of.scale,
        has_mask: of.mask.is_some().into(),
        mask_has_rows: of.mask_layout.has_rows.into(),
        repeats: count(of.mask_layout.repeats),
        matrices: count(of.mask_layout.count),
        ..structs::Attention::default()
    })
}
