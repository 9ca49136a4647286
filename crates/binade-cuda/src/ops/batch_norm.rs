//! Normalisation over the batch, by channel.

use super::rows::blocks;
use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::{GROUP, Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{self, Address, Bytes, F32, U32, U64},
        structs::ChannelsBits,
    },
    memory::Buffer,
};
use binade_core::{DType, Op};
use binade_gpu::Driver;
use binade_ops::{
    BatchNorm, BatchNormConfig, BatchNormOutput, NormGrads, RunningStats, operands, shape,
};

pub(super) const KERNELS: &[&Kernel] = &[
    &BATCH_NORM,
    &BATCH_NORM_BACKWARD,
    &BATCH_NORM_BACKWARD_PARAMETERS,
    &BATCH_NORM_BACKWARD_SUMS,
    &BATCH_NORM_RUNNING,
    &BATCH_NORM_STATS,
    &BATCH_NORM_SUMS,
];

const MODULE: &str = "batch_norm";
const SHAPE: Param = Bytes(size_of::<ChannelsBits>());

const BATCH_NORM: Kernel = Kernel {
    name: "batch_norm",
    module: MODULE,
    params: &[Address, U32, Address, Address, U32, SHAPE, Address, Address],
};
const BATCH_NORM_BACKWARD: Kernel = Kernel {
    name: "batch_norm_backward",
    module: MODULE,
    params: &[Address, Address, U32, Address, U32, SHAPE, Address, Address, Address],
};
const BATCH_NORM_BACKWARD_PARAMETERS: Kernel = Kernel {
    name: "batch_norm_backward_parameters",
    module: MODULE,
    params: &[Address, SHAPE, Address, Address, Address, U32],
};
const BATCH_NORM_BACKWARD_SUMS: Kernel = Kernel {
    name: "batch_norm_backward_sums",
    module: MODULE,
    params: &[Address, Address, U32, SHAPE, Address, Address],
};
const BATCH_NORM_RUNNING: Kernel = Kernel {
    name: "batch_norm_running",
    module: MODULE,
    params: &[Address, Address, U64, F32, Address],
};
const BATCH_NORM_STATS: Kernel = Kernel {
    name: "batch_norm_stats",
    module: MODULE,
    params: &[Address, Address, SHAPE, F32, F32, Address, Address, Address, Address, Address],
};
const BATCH_NORM_SUMS: Kernel = Kernel {
    name: "batch_norm_sums",
    module: MODULE,
    params: &[Address, U32, SHAPE, Address, Address],
};

/// Bytes of a channel's mean and deviation; all means come first.
const STATS: usize = 8;

/// Samples of the shortest chunk, if a block reads it for one channel and if it does for `TILE` of them; and most chunks of a
/// channel. They are enough to fill any GPU, and a few for each lane of the warp that joins them.
const LEAST_SAMPLES: usize = 4096;
const LEAST_ROWS: usize = 64;
const MOST_CHUNKS: usize = 256;

/// Number of neighbouring channels that a block reads together.
const TILE: usize = 32;

/// Way in which a block reads a chunk: `Layout` of `channels.cuh`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Layout {
    Along = 0,
    AlongGroups = 1,
    Across = 2,
}

impl BatchNorm for Cuda {
    fn batch_norm(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Tensor>, Error> {
        let layer = Layer::new(self, input, &[weight, bias], Some(running))?;
        shape::batch_norm_samples(input.shape())?;
        let vector = || self.unset(DType::F32, running.mean.shape());
        let moved = RunningStats { mean: vector()?, var: vector()? };
        let stats = layer.stats(config, Some((running, &moved)))?;
        Ok(BatchNormOutput { output: layer.normalise(weight, bias, &stats)?, running: moved })
    }

    fn batch_norm_inference(
        &self,
        input: &Tensor,
        weight: &Tensor,
        bias: &Tensor,
        running: &RunningStats<Tensor>,
        eps: f32,
    ) -> Result<Tensor, Error> {
        let layer = Layer::new(self, input, &[weight, bias], Some(running))?;
        let stats = self.buffer(STATS * running.mean.len())?;
        let args = [
            Arg::Address(running.mean.address()),
            Arg::Address(running.var.address()),
            Arg::U64(running.mean.len() as u64),
            Arg::F32(eps),
            Arg::Address(stats.address()),
        ];
        self.launch(&BATCH_NORM_RUNNING, Layer::by_channel(running.mean.len()), &args)?;
        layer.normalise(weight, bias, &stats)
    }

    fn batch_norm_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<NormGrads<Tensor>, Error> {
        let layer = Layer::new(self, input, &[weight], None)?;
        shape::batch_norm_samples(input.shape())?;
        operands::grad(Op::BATCH_NORM, grad, input.shape(), input.dtype())?;
        self.has_made_all(&[grad])?;
        let stats = layer.stats(BatchNormConfig { momentum: 0.0, eps }, None)?;
        layer.grads(grad, weight, &stats)
    }
}

/// One normalisation, whose operands have been checked.
struct Layer<'a> {
    cuda: &'a Cuda,
    input: &'a Tensor,
    dtype: u32,
    of: ChannelsBits,
    layout: Layout,
}

impl<'a> Layer<'a> {
    /// Checks the operands against the contract.
    fn new(
        cuda: &'a Cuda,
        input: &'a Tensor,
        parameters: &[&Tensor],
        running: Option<&RunningStats<Tensor>>,
    ) -> Result<Self, Error> {
        let running: Vec<&Tensor> =
            running.map_or_else(Vec::new, |running| vec![&running.mean, &running.var]);
        let vectors: Vec<&[usize]> = parameters.iter().chain(&running).map(|t| t.shape()).collect();
        shape::batch_norm(input.shape(), &vectors)?;
        operands::norm(Op::BATCH_NORM, input, parameters)?;
        operands::all_f32(Op::BATCH_NORM, &running)?;
        cuda.has_made_all(&[&[input], parameters, &running].concat())?;
        let (of, layout) = channels(input.shape());
        Ok(Self { cuda, input, dtype: code("batch_norm", input.dtype())?, of, layout })
    }

    /// Returns a grid with a warp for each of `channels`.
    fn by_channel(channels: usize) -> Grid {
        blocks(channels.div_ceil(THREADS as usize / 32))
    }

    /// Returns a grid with a block for each chunk of one channel, or of a tile of them.
    fn by_chunk(&self) -> Grid {
        let tile = if self.layout == Layout::Across { TILE } else { 1 };
        blocks(self.channels().div_ceil(tile) * self.of.chunks as usize)
    }

    fn channels(&self) -> usize {
        self.input.shape()[1]
    }

    fn partial_count(&self) -> usize {
        self.channels() * self.of.chunks as usize
    }

    /// Returns memory of an f64 for each chunk of each channel.
    fn partials(&self) -> Result<Buffer, Error> {
        self.cuda.buffer(size_of::<f64>() * self.partial_count())
    }

    fn shape(&self) -> Arg<'_> {
        Arg::Bytes(bytemuck::bytes_of(&self.of))
    }

    /// Computes each channel's mean and deviation from the batch, and moves the running statistics from the first to the second.
    fn stats(
        &self,
        config: BatchNormConfig,
        running: Option<(&RunningStats<Tensor>, &RunningStats<Tensor>)>,
    ) -> Result<Buffer, Error> {
        let (sums, squares) = (self.partials()?, self.partials()?);
        let (input, dtype) = (Arg::Address(self.input.address()), Arg::U32(self.dtype));
        let sums_at = Arg::Address(sums.address());
        let squares_at = Arg::Address(squares.address());
        let args = [input, dtype, self.shape(), sums_at, squares_at];
        self.cuda.launch(&BATCH_NORM_SUMS, self.by_chunk(), &args)?;
        let stats = self.cuda.buffer(STATS * self.channels())?;
        let both = |of: &RunningStats<Tensor>| [of.mean.address(), of.var.address()];
        let ([mean, var], [to_mean, to_var]) =
            running.map_or(([0; 2], [0; 2]), |(from, to)| (both(from), both(to)));
        let args = [
            sums_at,
            squares_at,
            self.shape(),
            Arg::F32(config.eps),
            Arg::F32(config.momentum),
            Arg::Address(mean),
            Arg::Address(var),
            Arg::Address(stats.address()),
            Arg::Address(to_mean),
            Arg::Address(to_var),
        ];
        self.cuda.launch(&BATCH_NORM_STATS, Self::by_channel(self.channels()), &args)?;
        Ok(stats)
    }

    fn normalise(&self, weight: &Tensor, bias: &Tensor, stats: &Buffer) -> Result<Tensor, Error> {
        let result = self.cuda.unset(self.input.dtype(), self.input.shape())?;
        let args = [
            Arg::Address(self.input.address()),
            Arg::U32(self.dtype),
            Arg::Address(weight.address()),
            Arg::Address(bias.address()),
            Arg::U32(code("batch_norm", weight.dtype())?),
            self.shape(),
            Arg::Address(stats.address()),
            Arg::Address(result.address()),
        ];
        self.cuda.launch(&BATCH_NORM, elementwise(result.len()), &args)?;
        Ok(result)
    }

    fn grads(
        &self,
        grad: &Tensor,
        weight: &Tensor,
        stats: &Buffer,
    ) -> Result<NormGrads<Tensor>, Error> {
        let cuda = self.cuda;
        // Two values each: the sum of the gradient times the normalised input, and that of the gradient.
        let sums = cuda.buffer(2 * size_of::<f64>() * self.partial_count())?;
        let means = cuda.buffer(2 * size_of::<f32>() * self.channels())?;
        let [sums_at, means_at] = [&sums, &means].map(|of| Arg::Address(of.address()));
        let grad_at = Arg::Address(grad.address());
        let (input, dtype) = (Arg::Address(self.input.address()), Arg::U32(self.dtype));
        let stats = Arg::Address(stats.address());
        let args = [grad_at, input, dtype, self.shape(), stats, sums_at];
        cuda.launch(&BATCH_NORM_BACKWARD_SUMS, self.by_chunk(), &args)?;

        let like = |of: &Tensor| cuda.unset(of.dtype(), of.shape());
        let grads =
            NormGrads { input: like(self.input)?, weight: like(weight)?, bias: like(weight)? };
        let of_weight = Arg::U32(code("batch_norm", weight.dtype())?);
        let [to_weight, to_bias] =
            [&grads.weight, &grads.bias].map(|to| Arg::Address(to.address()));
        let args = [sums_at, self.shape(), means_at, to_weight, to_bias, of_weight];
        let warps = Self::by_channel(2 * self.channels());
        cuda.launch(&BATCH_NORM_BACKWARD_PARAMETERS, warps, &args)?;

        let weight = Arg::Address(weight.address());
        let to = Arg::Address(grads.input.address());
        let args = [grad_at, input, dtype, weight, of_weight, self.shape(), stats, means_at, to];
        cuda.launch(&BATCH_NORM_BACKWARD, elementwise(self.input.len()), &args)?;
        Ok(grads)
    }
}

/// Returns `[N, C, ..]` as the kernels see it. The chunks, and so the order of the sums, follow from the shape alone.
fn channels(shape: &[usize]) -> (ChannelsBits, Layout) {
    let inner: usize = shape[2..].iter().product();
    let samples = shape[0] * inner;
    let (layout, least) = match inner {
        1 if shape[1] >= TILE => (Layout::Across, LEAST_ROWS),
        _ if inner.is_multiple_of(GROUP) => (Layout::AlongGroups, LEAST_SAMPLES),
        _ => (Layout::Along, LEAST_SAMPLES),
    };
    let chunk = samples.div_ceil(MOST_CHUNKS).max(least).next_multiple_of(GROUP);
    let of = ChannelsBits {
        outer: shape[0] as u64,
        channels: shape[1] as u64,
        inner: inner as u64,
        chunk_len: chunk as u64,
        chunks: u32::try_from(samples.div_ceil(chunk)).unwrap_or(u32::MAX),
        layout: layout as u32,
    };
    (of, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_says_how_its_chunks_are_read() {
        let of = |shape: &[usize]| {
            let (of, layout) = channels(shape);
            (layout, of.chunk_len, of.chunks)
        };
        assert_eq!(of(&[4096, 1024]), (Layout::Across, 64, 64));
        assert_eq!(of(&[4096, 31]), (Layout::Along, 4096, 1));
        assert_eq!(of(&[32, 64, 7, 7]), (Layout::Along, 4096, 1));
        assert_eq!(of(&[256, 64, 112, 112]), (Layout::AlongGroups, 12_544, 256));
        // Chunks are whole groups, even if an equal share would not be.
        assert_eq!(of(&[257, 1, 5000]), (Layout::AlongGroups, 5024, 256));
    }
}
