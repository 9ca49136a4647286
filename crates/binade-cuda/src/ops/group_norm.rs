//! Normalisation over groups of channels: the statistics and sums of batch normalisation, of rows and of runs.

use super::batch_norm::{Layer, by_channel};
use crate::{
    Cuda, CudaError, Error, Result, Tensor,
    launch::{Arg, Grid, args, code},
    memory::Buffer,
};
use binade_core::DType;
use binade_core::ops::BatchNormConfig;
use binade_gpu::{ChannelGroups, Driver, GroupNormKernels, NormBackward};

impl GroupNormKernels for Cuda {
    fn launch_group_norm(
        &self,
        operands: [&Tensor; 3],
        of: ChannelGroups,
        eps: f32,
        result: &Tensor,
    ) -> Result {
        let [input, weight, bias] = operands;
        let by_run = self.vectors_of_runs(input, [weight, bias], of, eps)?;
        let input = of.runs(input)?;
        let [stats, weight, bias] = vectors(&by_run, of)?;
        Layer::new(self, &input)?.normalise([&weight, &bias], Arg::from(&stats), result)
    }

    fn launch_group_norm_backward(
        &self,
        call: &NormBackward<'_, Self>,
        of: ChannelGroups,
    ) -> Result {
        let NormBackward { grad, input, weight, eps, grads } = *call;
        // The weight is passed as the bias, which backward does not read.
        let by_run = self.vectors_of_runs(input, [weight, weight], of, eps)?;
        let input = of.runs(input)?;
        let layer = Layer::new(self, &input)?;
        let [stats, by_run_weight, _] = vectors(&by_run, of)?;
        let sums = layer.grad_sums(grad, Arg::from(&stats))?;
        let chunks = layer.of.chunks;

        let means = self.buffer(2 * size_of::<f32>() * of.samples * of.channels)?;
        let (rows, share) = (of.samples * of.groups, of.channels / of.groups);
        let args = args![&sums, chunks, rows, share, of.inner, &by_run_weight, &means];
        self.launch("group_norm_backward_means", by_channel(rows), &args)?;
        self.group_norm_parameters(&sums, chunks, of, [&grads.weight, &grads.bias])?;

        let (dtype, runs) = (code("group_norm", input.dtype())?, of.samples * of.channels);
        let args = args![grad, &input, dtype, runs, of.inner, &by_run, &means, &grads.input];
        self.launch("group_norm_backward", Grid::elementwise(input.len()), &args)
    }
}

impl Cuda {
    /// Returns the f32 vectors `[4, N·C]` of the runs: mean and deviation of their rows, weight and bias of their channels.
    fn vectors_of_runs(
        &self,
        input: &Tensor,
        [weight, bias]: [&Tensor; 2],
        of: ChannelGroups,
        eps: f32,
    ) -> Result<Tensor> {
        let rows = of.rows(input)?;
        let config = BatchNormConfig { momentum: 0.0, eps };
        let stats = Layer::new(self, &rows)?.stats(config, None)?;
        let runs = of.samples * of.channels;
        let result = self.unset(DType::F32, &[4, runs])?;
        let dtype = code("group_norm", weight.dtype())?;
        let [all, channels, share] = [runs, of.channels, of.channels / of.groups].map(small);
        let (all, share) = (all?, share?);
        let args = args![&stats, weight, bias, dtype, all / share, share, channels?, &result];
        self.launch("group_norm_runs", Grid::elementwise(runs), &args)?;
        Ok(result)
    }

    /// Joins the sums of runs to the gradients of weight and bias.
    fn group_norm_parameters(
        &self,
        sums: &Buffer,
        chunks: u32,
        of: ChannelGroups,
        [weight, bias]: [&Tensor; 2],
    ) -> Result {
        let dtype = code("group_norm", weight.dtype())?;
        let args = args![sums, chunks, of.samples, of.channels, weight, bias, dtype];
        self.launch("group_norm_backward_parameters", by_channel(2 * of.channels), &args)
    }
}

/// Returns a count as the 32 bits that a kernel takes.
fn small(runs: usize) -> Result<u32> {
    let too_large = || Error::Driver(CudaError::TooLarge { what: "channels", sizes: vec![runs] });
    u32::try_from(runs).ok().filter(|_| runs < 1 << 31).ok_or_else(too_large)
}

/// Returns statistics, weight and bias of the runs.
fn vectors(by_run: &Tensor, of: ChannelGroups) -> Result<[Tensor; 3]> {
    let runs = of.samples * of.channels;
    Ok([by_run.slice(0, 2 * runs)?, by_run.slice(2 * runs, runs)?, by_run.slice(3 * runs, runs)?])
}
