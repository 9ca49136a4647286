//! Normalisation over the batch, by channel.

use crate::{
    Cuda, Result, Tensor,
    kernels::{GROUP, THREADS},
    launch::{Arg, Grid, args, code, structs::ChannelsBits},
    memory::Buffer,
};
use binade_core::ops::{BatchNormConfig, RunningStats};
use binade_gpu::{BatchNormKernels, Driver, NormBackward, NormCall, NormStep};

/// Bytes of a channel's mean and deviation; all means come first.
const STATS: usize = 8;

/// Samples of the shortest chunk, if a block reads it for one channel and if it does for `TILE` of them; and most chunks of a
/// channel. They are enough to fill any GPU, and a few for each lane of the warp that joins them.
const LEAST_SAMPLES: usize = 4096;
const LEAST_ROWS: usize = 64;
const MOST_CHUNKS: usize = 256;

/// Number of neighbouring channels that a block reads together.
const TILE: usize = 32;

/// How a block reads a chunk: `Layout` of `channels.cuh`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Layout {
    Along = 0,
    AlongGroups = 1,
    Across = 2,
}

impl BatchNormKernels for Cuda {
    fn launch_batch_norm(&self, call: &NormCall<'_, Self>, to: &RunningStats<Tensor>) -> Result {
        let NormCall { input, weight, bias, running, config, result } = *call;
        let layer = Layer::new(self, input)?;
        let stats = layer.stats(config, Some([running, to]))?;
        layer.normalise([weight, bias], Arg::from(&stats), result)
    }

    fn launch_batch_norm_inference(&self, call: &NormCall<'_, Self>) -> Result {
        let NormCall { input, weight, bias, running, config, result } = *call;
        let layer = Layer::new(self, input)?;
        layer.normalise([weight, bias], Arg::from(&layer.given(running, config.eps)?), result)
    }

    fn launch_batch_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result {
        let NormBackward { grad, input, weight, eps, grads } = *call;
        let layer = Layer::new(self, input)?;
        let stats = layer.stats(BatchNormConfig { momentum: 0.0, eps }, None)?;
        let sums = layer.grad_sums(grad, Arg::from(&stats))?;
        let means = layer.parameters(&sums, [&grads.weight, &grads.bias])?;
        layer.input_grad(grad, weight, &stats, Arg::from(&means), &grads.input)
    }

    fn launch_batch_norm_stats(
        &self,
        input: &Tensor,
        zeros: &Tensor,
        to: &RunningStats<Tensor>,
    ) -> Result {
        // Running statistics of zeros that move all the way.
        let from = RunningStats { mean: zeros.clone(), var: zeros.clone() };
        let config = BatchNormConfig { momentum: 1.0, ..BatchNormConfig::default() };
        Layer::new(self, input)?.stats(config, Some([&from, to])).map(drop)
    }

    fn launch_batch_norm_grad_sums(&self, step: &NormStep<'_, Self>, sums: &Tensor) -> Result {
        let NormStep { grad, input, stats, eps } = *step;
        let layer = Layer::new(self, input)?;
        let partials = layer.grad_sums(grad, Arg::from(&layer.given(stats, eps)?))?;
        let row = |first| sums.slice(first, layer.channels());
        layer.parameters(&partials, [&row(0)?, &row(layer.channels())?]).map(drop)
    }

    fn launch_batch_norm_input_grad(
        &self,
        step: &NormStep<'_, Self>,
        weight: &Tensor,
        means: &Tensor,
        result: &Tensor,
    ) -> Result {
        let NormStep { grad, input, stats, eps } = *step;
        let layer = Layer::new(self, input)?;
        layer.input_grad(grad, weight, &layer.given(stats, eps)?, Arg::from(means), result)
    }
}

/// One normalisation.
pub(super) struct Layer<'a> {
    cuda: &'a Cuda,
    input: &'a Tensor,
    dtype: u32,
    pub(super) of: ChannelsBits,
    layout: Layout,
}

impl<'a> Layer<'a> {
    pub(super) fn new(cuda: &'a Cuda, input: &'a Tensor) -> Result<Self> {
        let (of, layout) = channels(input.shape());
        Ok(Self { cuda, input, dtype: code("batch_norm", input.dtype())?, of, layout })
    }

    /// Returns a grid with a block for each chunk of one channel, or of a tile of them.
    fn by_chunk(&self) -> Grid {
        let tile = if self.layout == Layout::Across { TILE } else { 1 };
        Grid::of(self.channels().div_ceil(tile) * self.of.chunks as usize)
    }

    fn channels(&self) -> usize {
        self.input.shape()[1]
    }

    fn partial_count(&self) -> usize {
        self.channels() * self.of.chunks as usize
    }

    /// Returns memory of an f64 for each chunk of each channel.
    fn partials(&self) -> Result<Buffer> {
        self.cuda.buffer(size_of::<f64>() * self.partial_count())
    }

    fn shape(&self) -> Arg<'_> {
        Arg::Bytes(bytemuck::bytes_of(&self.of))
    }

    /// Computes each channel's mean and deviation from the batch, and updates the running statistics, from the first tensors to the second.
    pub(super) fn stats(
        &self,
        config: BatchNormConfig,
        running: Option<[&RunningStats<Tensor>; 2]>,
    ) -> Result<Buffer> {
        let (sums, squares) = (self.partials()?, self.partials()?);
        let args = args![self.input, self.dtype, self.shape(), &sums, &squares];
        self.cuda.launch("batch_norm_sums", self.by_chunk(), &args)?;
        let stats = self.cuda.buffer(STATS * self.channels())?;
        let both = |place: usize| running.map(|stats| [&stats[place].mean, &stats[place].var]);
        let [[mean, var], [to_mean, to_var]] =
            [both(0), both(1)].map(|stats| [0, 1].map(|place| stats.map(|both| both[place])));
        let BatchNormConfig { momentum, eps } = config;
        let shape = self.shape();
        let args = args![&sums, &squares, shape, eps, momentum, mean, var, &stats, to_mean, to_var];
        self.cuda.launch("batch_norm_stats", by_channel(self.channels()), &args)?;
        Ok(stats)
    }

    /// Computes each channel's mean and deviation from given statistics.
    fn given(&self, stats: &RunningStats<Tensor>, eps: f32) -> Result<Buffer> {
        let channels = self.channels();
        let result = self.cuda.buffer(STATS * channels)?;
        let args = args![&stats.mean, &stats.var, channels, eps, &result];
        self.cuda.launch("batch_norm_running", by_channel(channels), &args)?;
        Ok(result)
    }

    pub(super) fn normalise(
        &self,
        [weight, bias]: [&Tensor; 2],
        stats: Arg<'_>,
        result: &Tensor,
    ) -> Result {
        let of_weight = code("batch_norm", weight.dtype())?;
        let shape = self.shape();
        let args = args![self.input, self.dtype, weight, bias, of_weight, shape, stats, result];
        self.cuda.launch("batch_norm", Grid::elementwise(result.len()), &args)
    }

    /// Computes two sums of each chunk of each channel: the gradient times the normalised input, and the gradient.
    pub(super) fn grad_sums(&self, grad: &Tensor, stats: Arg<'_>) -> Result<Buffer> {
        let sums = self.cuda.buffer(2 * size_of::<f64>() * self.partial_count())?;
        let args = args![grad, self.input, self.dtype, self.shape(), stats, &sums];
        self.cuda.launch("batch_norm_backward_sums", self.by_chunk(), &args)?;
        Ok(sums)
    }

    /// Joins these sums to the gradients of weight and bias. Returns their means.
    fn parameters(&self, sums: &Buffer, [weight, bias]: [&Tensor; 2]) -> Result<Buffer> {
        let means = self.cuda.buffer(2 * size_of::<f32>() * self.channels())?;
        let dtype = code("batch_norm", weight.dtype())?;
        let args = args![sums, self.shape(), &means, weight, bias, dtype];
        let warps = by_channel(2 * self.channels());
        self.cuda.launch("batch_norm_backward_parameters", warps, &args)?;
        Ok(means)
    }

    fn input_grad(
        &self,
        grad: &Tensor,
        weight: &Tensor,
        stats: &Buffer,
        means: Arg<'_>,
        result: &Tensor,
    ) -> Result {
        let Self { cuda, input, dtype, .. } = *self;
        let (shape, of_weight) = (self.shape(), code("batch_norm", weight.dtype())?);
        let args = args![grad, input, dtype, weight, of_weight, shape, stats, means, result];
        cuda.launch("batch_norm_backward", Grid::elementwise(input.len()), &args)
    }
}

/// Returns a grid with a warp for each of `channels`.
pub(super) fn by_channel(channels: usize) -> Grid {
    Grid::of(channels.div_ceil(THREADS as usize / 32))
}

/// Returns `[N, C, ..]` as the kernels see it. The shape determines the chunks, and so the order of the sums.
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
