//! Normalisation over the batch, by channel.

use super::{
    check,
    layer_norm::{NormBackward, norm_grads},
};
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::ops::{BatchNormConfig, BatchNormOutput, NormGrads, OpInvocation, RunningStats};
use binade_core::{DType, TensorSpec};

/// Operands and result of a normalisation over the batch.
#[derive(Debug)]
pub struct NormCall<'a, D: Driver> {
    /// Tensor to normalise.
    pub input: &'a Tensor<D>,
    /// Factor of each channel.
    pub weight: &'a Tensor<D>,
    /// Term of each channel.
    pub bias: &'a Tensor<D>,
    /// Running statistics.
    pub running: &'a RunningStats<Tensor<D>>,
    /// Number added to the variance, and the batch's weight in the running statistics; 0 leaves them unchanged.
    pub config: BatchNormConfig,
    /// Tensor to compute.
    pub result: &'a Tensor<D>,
}

/// Operands of the backward passes of a normalisation by given statistics.
#[derive(Debug)]
pub struct NormStep<'a, D: Driver> {
    /// Gradient of the result.
    pub grad: &'a Tensor<D>,
    /// Tensor that was normalised.
    pub input: &'a Tensor<D>,
    /// Mean and variance of each channel.
    pub stats: &'a RunningStats<Tensor<D>>,
    /// Number added to the variance.
    pub eps: f32,
}

/// Driver with kernels of normalisation over the batch.
pub trait BatchNormKernels: Driver {
    /// Normalises by the batch's statistics, weight and bias, and computes the updated running statistics.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_batch_norm(
        &self,
        call: &NormCall<'_, Self>,
        moved: &RunningStats<Tensor<Self>>,
    ) -> Result<(), Self>;

    /// Normalises by running statistics, weight and bias.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_batch_norm_inference(&self, call: &NormCall<'_, Self>) -> Result<(), Self>;

    /// Computes the gradients of input, weight and bias.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_batch_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result<(), Self>;

    /// Computes mean and unbiased variance of each channel of the batch. `zeros` has a 0 for each channel.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_batch_norm_stats(
        &self,
        input: &Tensor<Self>,
        zeros: &Tensor<Self>,
        to: &RunningStats<Tensor<Self>>,
    ) -> Result<(), Self>;

    /// Computes the sums `[2, C]` of the gradient times the normalised input, and of the gradient. The input is not empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_batch_norm_grad_sums(
        &self,
        step: &NormStep<'_, Self>,
        sums: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the input's gradient from means `[2, C]`. The input is not empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_batch_norm_input_grad(
        &self,
        step: &NormStep<'_, Self>,
        weight: &Tensor<Self>,
        means: &Tensor<Self>,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: BatchNormKernels> binade_core::ops::BatchNorm for Gpu<'_, D> {
    fn batch_norm(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: &Tensor<D>,
        running: &RunningStats<Tensor<D>>,
        config: BatchNormConfig,
    ) -> Result<BatchNormOutput<Tensor<D>>, D> {
        let operands = [input, weight, bias, &running.mean, &running.var];
        check(self.0, &OpInvocation::BatchNorm { config }, &operands)?;
        let vector = || self.0.unset(DType::F32, running.mean.shape());
        let output = self.0.unset(input.dtype(), input.shape())?;
        let moved = RunningStats { mean: vector()?, var: vector()? };
        let call = NormCall { input, weight, bias, running, config, result: &output };
        self.0.launch_batch_norm(&call, &moved)?;
        Ok(BatchNormOutput { output, running: moved })
    }

    fn batch_norm_inference(
        &self,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        bias: &Tensor<D>,
        running: &RunningStats<Tensor<D>>,
        eps: f32,
    ) -> Result<Tensor<D>, D> {
        let operands = [input, weight, bias, &running.mean, &running.var];
        check(self.0, &OpInvocation::BatchNormInference { eps }, &operands)?;
        let result = self.0.unset(input.dtype(), input.shape())?;
        let config = BatchNormConfig { momentum: 0.0, eps };
        let call = NormCall { input, weight, bias, running, config, result: &result };
        self.0.launch_batch_norm_inference(&call)?;
        Ok(result)
    }

    fn batch_norm_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        eps: f32,
    ) -> Result<NormGrads<Tensor<D>>, D> {
        check(self.0, &OpInvocation::BatchNormBackward { eps }, &[grad, input, weight])?;
        let grads = norm_grads(self.0, input, weight)?;
        self.0.launch_batch_norm_backward(&NormBackward {
            grad,
            input,
            weight,
            eps,
            grads: &grads,
        })?;
        Ok(grads)
    }

    fn batch_norm_stats(&self, input: &Tensor<D>) -> Result<RunningStats<Tensor<D>>, D> {
        let TensorSpec { dtype, shape } = check(self.0, &OpInvocation::BatchNormStats, &[input])?;
        let vector = || self.0.unset(dtype, &shape);
        let stats = RunningStats { mean: vector()?, var: vector()? };
        let zeros = self.0.zeros_tensor(dtype, &shape)?;
        self.0.launch_batch_norm_stats(input, &zeros, &stats)?;
        Ok(stats)
    }

    fn batch_norm_grad_sums(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        stats: &RunningStats<Tensor<D>>,
        eps: f32,
    ) -> Result<Tensor<D>, D> {
        let operands = [grad, input, &stats.mean, &stats.var];
        let call = OpInvocation::BatchNormGradSums { eps };
        let TensorSpec { dtype, shape } = check(self.0, &call, &operands)?;
        if input.is_empty() {
            return self.0.zeros_tensor(dtype, &shape);
        }
        let sums = self.0.unset(dtype, &shape)?;
        self.0.launch_batch_norm_grad_sums(&NormStep { grad, input, stats, eps }, &sums)?;
        Ok(sums)
    }

    fn batch_norm_input_grad(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        weight: &Tensor<D>,
        stats: &RunningStats<Tensor<D>>,
        means: &Tensor<D>,
        eps: f32,
    ) -> Result<Tensor<D>, D> {
        let operands = [grad, input, weight, &stats.mean, &stats.var, means];
        let call = OpInvocation::BatchNormInputGrad { eps };
        let TensorSpec { dtype, shape } = check(self.0, &call, &operands)?;
        let result = self.0.unset(dtype, &shape)?;
        if !input.is_empty() {
            let step = NormStep { grad, input, stats, eps };
            self.0.launch_batch_norm_input_grad(&step, weight, means, &result)?;
        }
        Ok(result)
    }
}
