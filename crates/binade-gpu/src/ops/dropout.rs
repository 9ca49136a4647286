//! Dropout: zeroes elements at random and scales the rest.

use super::check;
use super::PointwiseKernels;
use crate::{Result, Tensor};
use binade_core::{TensorSpec, stochastic::threshold};
use binade_ops::{OpInvocation};

/// Reads the key on the device, when the kernel runs.
pub fn dropout<D: PointwiseKernels>(
    device: &D,
    input: &Tensor<D>,
    key: &Tensor<D>,
    p: f32,
) -> Result<Tensor<D>, D> {
    let call = OpInvocation::Dropout { p }; let TensorSpec { dtype, shape } = check(device, &call, &[input, key])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_dropout([input, key, &result], threshold(p), 1.0 / (1.0 - p))?;
    Ok(result)
}

pub fn dropout_backward<D: PointwiseKernels>(
    device: &D,
    grad: &Tensor<D>,
    key: &Tensor<D>,
    p: f32,
) -> Result<Tensor<D>, D> {
    dropout(device, grad, key, p)
}
