//! Normalisation over the batch, by channel.

use super::{
    check,
    layer_norm::{NormBackward, norm_grads},
};
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::DType;
use binade_core::ops::{BatchNormConfig, BatchNormOutput, NormGrads, OpInvocation, RunningStats};

/// Normalisation over the batch: its operands, and its result.
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
    /// Number added to the variance, and the batch's weight in the running statistics, 0 if they do not move.
    pub config: BatchNormConfig,
    /// Tensor to compute.
    pub result: &'a Tensor<D>,
}

/// Driver with kernels of normalisation over the batch.
pub trait BatchNormKernels: Driver {
    /// Normalises by the batch's statistics, weight and bias, and computes the running statistics moved by them.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_batch_norm(
        &self,
        call: &NormCall<'_, Self>,
        moved: &RunningStats<Tensor<Self>>,
    ) -> Result<(), Self>;

    /// Normalises by running statistics, weight and bias.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_batch_norm_inference(&self, call: &NormCall<'_, Self>) -> Result<(), Self>;

    /// Computes the gradients of input, weight and bias.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_batch_norm_backward(&self, call: &NormBackward<'_, Self>) -> Result<(), Self>;
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
}
