//! Largest element of each window.

use crate::{Driver, Result, Tensor};
use binade_core::Op;
use binade_ops::{MaxPool2dConfig, operands, shape};

/// Driver with kernels of max pooling.
pub trait MaxPool2dKernels: Driver {
    /// Computes the largest element of each window.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_max_pool2d(
        &self,
        input: &Tensor<Self>,
        config: MaxPool2dConfig,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the gradient of the input from that of the result.
    ///
    /// # Errors
    ///
    /// For planes of more elements than kernels count; where the device fails.
    fn launch_max_pool2d_backward(
        &self,
        grad: &Tensor<Self>,
        input: &Tensor<Self>,
        config: MaxPool2dConfig,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

pub fn max_pool2d<D: MaxPool2dKernels>(
    device: &D,
    input: &Tensor<D>,
    config: MaxPool2dConfig,
) -> Result<Tensor<D>, D> {
    let shape = shape::max_pool2d(input.shape(), config)?;
    let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
    device.check_owners(&[input])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_max_pool2d(input, config, &result)?;
    Ok(result)
}

pub fn max_pool2d_backward<D: MaxPool2dKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    config: MaxPool2dConfig,
) -> Result<Tensor<D>, D> {
    let shape = shape::max_pool2d(input.shape(), config)?;
    let dtype = operands::float(Op::MAX_POOL2D, &[input])?;
    operands::grad(Op::MAX_POOL2D, grad, &shape, dtype)?;
    device.check_owners(&[grad, input])?;
    let result = device.unset(dtype, input.shape())?;
    device.launch_max_pool2d_backward(grad, input, config, &result)?;
    Ok(result)
}
