//! Kernels on channels and on the columns of a matrix: a bias, and the sums of its gradient.

use crate::{
    Cuda, CudaError, Result, Tensor,
    kernels::THREADS,
    launch::{Grid, args, code},
};
use binade_gpu::{ChannelKernels, Channels, Driver};

/// Elements that a block adds up, and below it the channels that it does so for if they are neighbours; as in the kernel.
const PART: usize = 16384;
const ACROSS: usize = 32;

/// Columns of a block's tile, as the kernel's `TILE`.
const TILE: usize = 32;

/// Least rows that a block sums, and below it the most chunks of them. The shape determines them, and so the sums' bits.
const ROWS: usize = 256;
const MOST_CHUNKS: usize = 64;

/// Limit of columns, and of tiles of all chunks, which are numbered in 32 bits.
const MOST: usize = 1 << 31;

impl ChannelKernels for Cuda {
    fn launch_bias_add(&self, [input, bias, result]: [&Tensor; 3], of: Channels) -> Result {
        let (dtype, len) = (code("bias_add", result.dtype())?, result.len());
        let args = args![input, bias, result, dtype, len, of.count, of.inner];
        self.launch("bias_add", Grid::elementwise(len), &args)
    }

    /// Adds in f64 and rounds to f32 once.
    fn launch_channel_sums(&self, values: &Tensor, of: Channels, result: &Tensor) -> Result {
        let ([tiles, parts], dtype) = (tiles_and_parts(of), code("bias_add", result.dtype())?);
        let sums = self.buffer(parts * of.count * size_of::<f64>())?;
        let args = args![values, &sums, dtype, of.outer, of.count, of.inner, parts];
        self.launch("bias_add_backward", Grid::of(tiles * parts), &args)?;
        let warps = of.count.div_ceil(THREADS as usize / 32);
        let args = args![&sums, result, dtype, of.count, parts];
        self.launch("bias_add_finish", Grid::of(warps), &args)
    }

    /// Adds in f64, rounded once to f32 and to the values' type.
    fn launch_column_sums(&self, values: &Tensor, rows: usize, result: &Tensor) -> Result {
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
        self.launch("columns", Grid::of(jobs), &args)?;
        // One thread per column adds its chunks in order.
        let args = args![&partials, result, dtype, width, chunks];
        self.launch("columns_join", Grid::of(width.div_ceil(THREADS as usize)), &args)
    }
}

/// Returns the number of tiles of channels, and of parts that each channel's samples are cut into: at least one, even of no
/// samples.
fn tiles_and_parts(of: Channels) -> [usize; 2] {
    let across = if of.inner == 1 { ACROSS } else { 1 };
    [of.count.div_ceil(across), of.samples().div_ceil(PART / across).max(1)]
}
