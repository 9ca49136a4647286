//! Kernels on channels: a bias, and the sums of its gradient.

use crate::{
    Cuda, Result, Tensor,
    kernels::{THREADS, code, elementwise},
    launch::{Grid, args},
};
use binade_gpu::{ChannelKernels, Channels, Driver};

/// Elements that a block adds up, and below it the channels that it does so for if they are neighbours; as in the kernel.
const PART: usize = 16384;
const ACROSS: usize = 32;

/// Number of blocks beyond which a grid strides.
const MOST_BLOCKS: usize = 1 << 14;

impl ChannelKernels for Cuda {
    fn launch_bias_add(&self, [input, bias, result]: [&Tensor; 3], of: Channels) -> Result {
        let (dtype, len) = (code("bias_add", result.dtype())?, result.len());
        let args = args![input, bias, result, dtype, len, of.count, of.inner];
        self.launch("bias_add", elementwise(len), &args)
    }

    /// Adds in f64 and rounds to f32 once.
    fn launch_channel_sums(&self, values: &Tensor, of: Channels, result: &Tensor) -> Result {
        let ([tiles, parts], dtype) = (tiles_and_parts(of), code("bias_add", result.dtype())?);
        let sums = self.buffer(parts * of.count * size_of::<f64>())?;
        let args = args![values, &sums, dtype, of.outer, of.count, of.inner, parts];
        self.launch("bias_add_backward", blocks(tiles * parts), &args)?;
        let warps = of.count.div_ceil(THREADS as usize / 32);
        let args = args![&sums, result, dtype, of.count, parts];
        self.launch("bias_add_finish", blocks(warps), &args)
    }

    fn launch_column_sums(&self, values: &Tensor, rows: usize, result: &Tensor) -> Result {
        self.sum_columns(values, rows, result)
    }
}

/// Returns the number of tiles of channels, and of parts that each channel's samples are cut into: at least one, even of no
/// samples.
fn tiles_and_parts(of: Channels) -> [usize; 2] {
    let across = if of.inner == 1 { ACROSS } else { 1 };
    [of.count.div_ceil(across), of.samples().div_ceil(PART / across).max(1)]
}

/// Returns a grid of `wanted` blocks, at least one and at most `MOST_BLOCKS`.
fn blocks(wanted: usize) -> Grid {
    Grid { blocks: u32::try_from(wanted.clamp(1, MOST_BLOCKS)).unwrap_or(1), threads: THREADS }
}
