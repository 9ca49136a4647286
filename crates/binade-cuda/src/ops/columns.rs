//! Sums of the columns of a matrix, such as a linear layer's gradient of the bias.

use super::rows::blocks;
use crate::{
    Cuda, CudaError, Result, Tensor,
    kernels::{THREADS, code},
    launch::args,
};
use binade_gpu::Driver;

/// Columns of a block's tile, as the kernel's `TILE`.
const TILE: usize = 32;

/// Least rows that a block sums, and below it the most chunks of them. They follow from the shape, and so do the sums' bits.
const ROWS: usize = 256;
const MOST_CHUNKS: usize = 64;

/// Limit of columns, and of tiles of all chunks, which are numbered in 32 bits.
const MOST: usize = 1 << 31;

impl Cuda {
    /// Sums each column of `values`, of so many rows. Sums are f64, rounded once to f32 and to the values' type.
    pub(super) fn sum_columns(&self, values: &Tensor, rows: usize, result: &Tensor) -> Result {
        let (dtype, width) = (code("sum", values.dtype())?, result.len());
        if width == 0 {
            return Ok(());
        }
        let chunk = rows.div_ceil(MOST_CHUNKS).max(ROWS);
        let chunks = rows.div_ceil(chunk);
        let partials = self.buffer(chunks * width * size_of::<f64>())?;
        let too_large =
            || CudaError::TooLarge { what: "a sum of columns", sizes: vec![rows, width] };
        let narrow = |extent: usize| u32::try_from(extent).ok().filter(|_| extent < MOST);
        let jobs = width.div_ceil(TILE) * chunks;
        let all = narrow(jobs).and(narrow(width)).zip(narrow(chunks));
        let (columns, parts) = all.ok_or_else(too_large)?;
        let args = args![values, dtype, &partials, rows, columns, chunk, parts];
        self.launch("columns", blocks(jobs), &args)?;
        // One thread a column, which adds its chunks in order.
        let args = args![&partials, result, dtype, width, chunks];
        self.launch("columns_join", blocks(width.div_ceil(THREADS as usize)), &args)
    }
}
