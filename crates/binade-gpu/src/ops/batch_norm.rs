//! Normalisation over the batch, by channel.

use super::layer_norm::norm_grads;
use crate::{Driver, Result, Tensor};
use binade_core::{DType, Op};
use binade_ops::{BatchNormConfig, BatchNormOutput, NormGrads, RunningStats, operands, shape};

/// Driver with kernels of normalisation over the batch.
pub trait BatchNormKernels: Driver {
    /// Normalises `input` by the batch's statistics, weight and bias, and moves the running statistics to those of `result`.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_batch_norm(
        &self,
        operands: [&Tensor<Self>; 3],
        running: &RunningStats<Tensor<Self>>,
        config: BatchNormConfig,
        result: &BatchNormOutput<Tensor<Self>>,
    ) -> Result<(), Self>;

    /// Normalises `input` by running statistics, weight and bias.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_batch_norm_inference(
        &self,
        operands: [&Tensor<Self>; 3],
        running: &RunningStats<Tensor<Self>>,
        eps: f32,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the gradients of input, weight and bias from those of the result, the input and the weight.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_batch_norm_backward(
        &self,
        operands: [&Tensor<Self>; 3],
        eps: f32,
        grads: &NormGrads<Tensor<Self>>,
    ) -> Result<(), Self>;
}

pub fn batch_norm<D: BatchNormKernels>(
    device: &D,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: &Tensor<D>,
    running: &RunningStats<Tensor<D>>,
    config: BatchNormConfig,
) -> Result<BatchNormOutput<Tensor<D>>, D> {
    check(device, input, &[weight, bias], Some(running))?;
    shape::batch_norm_samples(input.shape())?;
    let vector = || device.unset(DType::F32, running.mean.shape());
    let result = BatchNormOutput {
        output: device.unset(input.dtype(), input.shape())?,
        running: RunningStats { mean: vector()?, var: vector()? },
    };
    device.launch_batch_norm([input, weight, bias], running, config, &result)?;
    Ok(result)
}

pub fn batch_norm_inference<D: BatchNormKernels>(
    device: &D,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    bias: &Tensor<D>,
    running: &RunningStats<Tensor<D>>,
    eps: f32,
) -> Result<Tensor<D>, D> {
    check(device, input, &[weight, bias], Some(running))?;
    let result = device.unset(input.dtype(), input.shape())?;
    device.launch_batch_norm_inference([input, weight, bias], running, eps, &result)?;
    Ok(result)
}

pub fn batch_norm_backward<D: BatchNormKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    weight: &Tensor<D>,
    eps: f32,
) -> Result<NormGrads<Tensor<D>>, D> {
    check(device, input, &[weight], None)?;
    shape::batch_norm_samples(input.shape())?;
    operands::grad(Op::BATCH_NORM, grad, input.shape(), input.dtype())?;
    device.check_owners(&[grad])?;
    let grads = norm_grads(device, input, weight)?;
    device.launch_batch_norm_backward([grad, input, weight], eps, &grads)?;
    Ok(grads)
}

/// Checks the operands against the contract.
fn check<D: Driver>(
    device: &D,
    input: &Tensor<D>,
    parameters: &[&Tensor<D>],
    running: Option<&RunningStats<Tensor<D>>>,
) -> Result<(), D> {
    let running: Vec<&Tensor<D>> =
        running.map_or_else(Vec::new, |running| vec![&running.mean, &running.var]);
    let vectors: Vec<&[usize]> = parameters.iter().chain(&running).map(|t| t.shape()).collect();
    shape::batch_norm(input.shape(), &vectors)?;
    operands::norm(Op::BATCH_NORM, input, parameters)?;
    operands::all_f32(Op::BATCH_NORM, &running)?;
    device.check_owners(&[&[input], parameters, &running].concat())
}
