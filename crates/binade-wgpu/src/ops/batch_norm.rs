//! Normalisation over the batch, by channel.

use super::{operands::by_group, roles::Role, rows::team, total::float};
use crate::{
    Result, Tensor, Wgpu,
    dispatch::{
        groups,
        structs::{self, code, count},
    },
};
use binade_core::DType;
use binade_core::ops::{NormGrads, RunningStats, shape::Permutation};
use binade_gpu::{
    BatchNormKernels, Channels, Driver, NormBackward, NormCall, NormStep, PermuteKernels as _,
};

/// Numbers of each channel, as the shader's `numbers`, and below it the indices of those moved into the running statistics.
const NUMBERS: usize = 3;
const MEAN: u32 = 0;
const VAR: u32 = 2;

/// Sums of each channel, as the shader's `third`.
const SUMS: usize = 2;

impl BatchNormKernels for Wgpu {
    fn launch_batch_norm(&self, call: &NormCall<'_, Self>, to: &RunningStats<Tensor>) -> Result {
        let NormCall { input, weight, bias, running, config, result } = *call;
        let layer = Layer::new(self, input, weight, config.eps)?;
        let numbers = layer.numbers()?;
        layer.normalise(weight, bias, &numbers, result)?;
        layer.moved(running, &numbers, config.momentum, to)
    }

    fn launch_batch_norm_inference(&self, call: &NormCall<'_, Self>) -> Result {
        let NormCall { input, weight, bias, running, config, result } = *call;
        let layer = Layer::new(self, input, weight, config.eps)?;
        let numbers = layer.running_numbers(running)?;
        layer.normalise(weight, bias, &numbers, result)
    }

    fn launch_batch_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result {
        let NormBackward { grad, input, weight, eps, grads } = *call;
        Layer::new(self, input, weight, eps)?.grads(grad, weight, grads)
    }

    fn launch_batch_norm_stats(
        &self,
        input: &Tensor,
        zeros: &Tensor,
        to: &RunningStats<Tensor>,
    ) -> Result {
        let layer = Layer::new(self, input, zeros, 0.0)?;
        // Running statistics of zeros, replaced completely by the batch's.
        let from = RunningStats { mean: zeros.clone(), var: zeros.clone() };
        layer.moved(&from, &layer.numbers()?, 1.0, to)
    }

    fn launch_batch_norm_grad_sums(&self, step: &NormStep<'_, Self>, sums: &Tensor) -> Result {
        let NormStep { grad, input, stats, eps } = *step;
        let layer = Layer::new(self, input, sums, eps)?;
        let by_channel = layer.grad_sums(grad, &layer.running_numbers(stats)?)?;
        let rows = Permutation::new(&[layer.of.count, SUMS], &[1, 0]);
        self.launch_permute(&by_channel, &rows, sums)
    }

    fn launch_batch_norm_input_grad(
        &self,
        step: &NormStep<'_, Self>,
        weight: &Tensor,
        means: &Tensor,
        result: &Tensor,
    ) -> Result {
        let NormStep { grad, input, stats, eps } = *step;
        let mut layer = Layer::new(self, input, weight, eps)?;
        let numbers = layer.running_numbers(stats)?;
        let by_channel = layer.by_channel_unset(SUMS)?;
        let channels = Permutation::new(&[SUMS, layer.of.count], &[1, 0]);
        self.launch_permute(means, &channels, &by_channel)?;
        // The kernel divides sums by the number of samples, but means are already divided.
        layer.params.samples = 1;
        layer.input_grad(grad, weight, [&numbers, &by_channel], result)
    }
}

/// One normalisation.
pub(super) struct Layer<'a> {
    wgpu: &'a Wgpu,
    input: &'a Tensor,
    of: Channels,
    /// Parameters without the operands' offsets.
    pub(super) params: structs::BatchNorm,
}

impl<'a> Layer<'a> {
    pub(super) fn new(
        wgpu: &'a Wgpu,
        input: &'a Tensor,
        weight: &Tensor,
        eps: f32,
    ) -> Result<Self> {
        let of = Channels::along(input.shape(), 1);
        let params = structs::BatchNorm {
            len: count(input.len()),
            dtype: code("batch_norm", input.dtype())?,
            channels: count(of.count),
            inner: count(of.inner),
            samples: count(of.samples()),
            team: count(team(of.samples())),
            parameter_dtype: code("batch_norm", weight.dtype())?,
            eps,
            share: 1,
            weights: count(of.count),
            ..structs::BatchNorm::default()
        };
        Ok(Self { wgpu, input, of, params })
    }

    /// Returns the parameters for a pass over the channels, in vectors of f32.
    pub(super) fn by_channel(&self) -> Result<structs::BatchNorm> {
        let dtype = code("batch_norm", DType::F32)?;
        Ok(structs::BatchNorm { len: self.params.channels, dtype, ..self.params })
    }

    /// Allocates `each` f32 for each channel, unset.
    pub(super) fn by_channel_unset(&self, each: usize) -> Result<Tensor> {
        self.wgpu.unset(DType::F32, &[self.of.count, each])
    }

    /// Computes mean, `1 / √(var + eps)` and biased variance of each channel of the batch.
    pub(super) fn numbers(&self) -> Result<Tensor> {
        let result = self.by_channel_unset(NUMBERS)?;
        let operands = [(self.input, Role::A), (&result, Role::Own)];
        self.dispatch("batch_norm_numbers", &operands, self.params, self.teams())?;
        Ok(result)
    }

    /// Computes these numbers from the running statistics.
    fn running_numbers(&self, running: &RunningStats<Tensor>) -> Result<Tensor> {
        let result = self.by_channel_unset(NUMBERS)?;
        let operands = [(&running.mean, Role::A), (&running.var, Role::B), (&result, Role::Own)];
        let groups = groups(self.of.count);
        self.dispatch("batch_norm_running_numbers", &operands, self.by_channel()?, groups)?;
        Ok(result)
    }

    pub(super) fn normalise(
        &self,
        weight: &Tensor,
        bias: &Tensor,
        numbers: &Tensor,
        result: &Tensor,
    ) -> Result {
        let operands = [
            (self.input, Role::A),
            (result, Role::Own),
            (numbers, Role::Own),
            (weight, Role::Weight),
            (bias, Role::Bias),
        ];
        self.dispatch("batch_norm", &operands, self.params, by_group(result.len()))
    }

    /// Updates the running statistics by the batch's mean and unbiased variance.
    fn moved(
        &self,
        running: &RunningStats<Tensor>,
        numbers: &Tensor,
        momentum: f32,
        to: &RunningStats<Tensor>,
    ) -> Result {
        let samples = float(self.of.samples());
        let unbiased = samples / float(self.of.samples() - 1);
        let params = structs::BatchNorm { momentum, kept: 1.0 - momentum, ..self.by_channel()? };
        let update = |[old, new]: [&Tensor; 2], number, factor| {
            let operands = [(old, Role::A), (new, Role::Own), (numbers, Role::Own)];
            let params = structs::BatchNorm { number, factor, ..params };
            self.dispatch("batch_norm_running", &operands, params, groups(self.of.count))
        };
        update([&running.mean, &to.mean], MEAN, 1.0)?;
        update([&running.var, &to.var], VAR, unbiased)
    }

    fn grads(&self, grad: &Tensor, weight: &Tensor, grads: &NormGrads<Tensor>) -> Result {
        let numbers = self.numbers()?;
        let sums = self.grad_sums(grad, &numbers)?;
        self.input_grad(grad, weight, [&numbers, &sums], &grads.input)?;
        self.parameters(&sums, [&grads.weight, &grads.bias])
    }

    /// Rounds the sums `[count, 2]` of vectors like weight and bias to their gradients.
    pub(super) fn parameters(&self, sums: &Tensor, grads: [&Tensor; 2]) -> Result {
        for (number, to) in (0..).zip(grads) {
            let params = structs::BatchNorm { number, len: count(to.len()), ..self.by_channel()? };
            let operands = [(to, Role::Own), (sums, Role::Own)];
            self.dispatch("batch_norm_parameters", &operands, params, by_group(to.len()))?;
        }
        Ok(())
    }

    /// Computes the sums of the gradient times the normalised input, and of the gradient, of each channel.
    pub(super) fn grad_sums(&self, grad: &Tensor, numbers: &Tensor) -> Result<Tensor> {
        let result = self.by_channel_unset(SUMS)?;
        let operands =
            [(grad, Role::A), (self.input, Role::B), (&result, Role::Own), (numbers, Role::Own)];
        self.dispatch("batch_norm_backward_numbers", &operands, self.params, self.teams())?;
        Ok(result)
    }

    fn input_grad(
        &self,
        grad: &Tensor,
        weight: &Tensor,
        [numbers, sums]: [&Tensor; 2],
        result: &Tensor,
    ) -> Result {
        let operands = [
            (grad, Role::A),
            (self.input, Role::B),
            (result, Role::Own),
            (numbers, Role::Own),
            (weight, Role::Weight),
            (sums, Role::Own),
        ];
        self.dispatch("batch_norm_backward", &operands, self.params, by_group(result.len()))
    }

    /// Returns the groups of a grid with a team for each channel.
    fn teams(&self) -> u32 {
        groups(self.of.count * team(self.of.samples()))
    }

    /// Dispatches a shader on whole operands, unless there are no elements.
    pub(super) fn dispatch(
        &self,
        shader: &'static str,
        operands: &[(&Tensor, Role)],
        params: structs::BatchNorm,
        groups: u32,
    ) -> Result {
        if params.len == 0 {
            return Ok(());
        }
        let (bound, starts) = self.wgpu.whole_by_role(operands)?;
        let params = structs::BatchNorm {
            starts: starts.operands,
            weight_start: starts.weight,
            bias_start: starts.bias,
            ..params
        };
        self.wgpu.dispatch(shader, &params, bound, groups)
    }
}
