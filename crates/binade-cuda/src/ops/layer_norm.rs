//! Normalisation over the last axis.

use super::rows::grid;
use crate::{
    Cuda, Result, Tensor,
    kernels::THREADS,
    launch::{Grid, args, code},
    memory::Buffer,
};
use binade_gpu::{Driver, LayerNormKernels, NormBackward, Rows};

/// Bytes of the kernel's `Stats`, and below it of its `Sums`.
pub(super) const STATS: usize = 8;
const SUMS: usize = 16;

/// Columns that a block sums up side by side: the kernel's `TILE`.
const TILE: usize = 32;

/// Rows of the shortest chunk, and below it the most chunks: enough to fill any GPU, few enough for one thread to sum up.
const LEAST_ROWS: usize = 64;
const MOST_CHUNKS: usize = 128;

impl LayerNormKernels for Cuda {
    fn launch_layer_norm(&self, operands: [&Tensor; 3], eps: f32, result: &Tensor) -> Result {
        let [input, weight, bias] = operands;
        let ([dtype, of_weight], rows) = (codes(input, weight)?, Rows::of(input));
        let Rows { count, width } = rows;
        let args = args![input, dtype, weight, bias, of_weight, result, count, width, eps];
        self.launch("layer_norm", grid(rows), &args)
    }

    fn launch_layer_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result {
        let NormBackward { grad, input, weight, eps, grads } = *call;
        let ([dtype, of_weight], rows) = (codes(input, weight)?, Rows::of(input));
        let Rows { count, width } = rows;
        let stats = self.buffer(if input.is_empty() { 0 } else { STATS * count })?;
        if !input.is_empty() {
            let to = &grads.input;
            let args = args![grad, input, dtype, weight, of_weight, to, &stats, count, width, eps];
            self.launch("layer_norm_backward", grid(rows), &args)?;
        }
        self.norm_parameters([grad, input], dtype, &stats, &grads.weight, Some(&grads.bias))
    }
}

/// Returns the codes of the element types of input and weight.
pub(super) fn codes(input: &Tensor, weight: &Tensor) -> Result<[u32; 2]> {
    Ok([code("layer_norm", input.dtype())?, code("layer_norm", weight.dtype())?])
}

impl Cuda {
    /// Computes the gradients of weight and bias: sums over chunks of rows, then over the chunks; 0 without rows.
    pub(super) fn norm_parameters(
        &self,
        [grad, input]: [&Tensor; 2],
        dtype: u32,
        stats: &Buffer,
        of_weight: &Tensor,
        of_bias: Option<&Tensor>,
    ) -> Result {
        let Rows { count, width } = Rows::of(input);
        let chunk = count.div_ceil(MOST_CHUNKS).max(LEAST_ROWS);
        let chunks = if width == 0 { 0 } else { count.div_ceil(chunk) };
        let partials = self.buffer(SUMS * chunks * width)?;
        if chunks > 0 {
            let args = args![grad, input, dtype, stats, &partials, count, width, chunk, chunks];
            let tiles = Grid::of(width.div_ceil(TILE) * chunks);
            self.launch("layer_norm_backward_sums", tiles, &args)?;
        }
        let to_dtype = code("layer_norm", of_weight.dtype())?;
        let args = args![&partials, width, chunks, of_weight, of_bias, to_dtype];
        let columns = Grid::of(width.div_ceil(THREADS as usize));
        self.launch("layer_norm_backward_join", columns, &args)
    }
}
