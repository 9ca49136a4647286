//! Normalisation over the batch, by channel.

use super::layer_norm::{NormBackward, norm_grads};
use crate::{Driver, Result, Tensor};
use binade_core::{DType, Op};
use binade_ops::{BatchNormConfig, BatchNormOutput, NormGrads, RunningStats, operands, shape};

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
    let output = device.unset(input.dtype(), input.shape())?;
    let moved = RunningStats { mean: vector()?, var: vector()? };
    let call = NormCall { input, weight, bias, running, config, result: &output };
    device.launch_batch_norm(&call, &moved)?;
    Ok(BatchNormOutput { output, running: moved })
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
    let config = BatchNormConfig { momentum: 0.0, eps };
    let call = NormCall { input, weight, bias, running, config, result: &result };
    device.launch_batch_norm_inference(&call)?;
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
    operands::grad(Op::BATCH_NORM, (grad.dtype(), grad.shape()), input.shape(), input.dtype())?;
    device.check_owners(&[grad])?;
    let grads = norm_grads(device, input, weight)?;
    device.launch_batch_norm_backward(&NormBackward { grad, input, weight, eps, grads: &grads })?;
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
    let of_parameters = parameters.iter().map(|it| it.dtype());
    let of_running = running.iter().map(|it| it.dtype());
    operands::norm(Op::BATCH_NORM, input.dtype(), of_parameters)?;
    operands::all_f32(Op::BATCH_NORM, of_running)?;
    device.check_owners(&[&[input], parameters, &running].concat())
}
