//! Largest element of each window.

use crate::{Driver, Result, Tensor};
use binade_core::Op;
use binade_ops::{MaxPool2dConfig, operands, shape};

/// Driver with kernels of max pooling.
pub trait MaxPool2dKernels: Driver {
    /// Computes the last tensor, the largest element of each window of the first.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_max_pool2d(
        &self,
        tensors: [&Tensor<Self>; 2],
        config: MaxPool2dConfig,
    ) -> Result<(), Self>;

    /// Computes the last tensor, the gradient of the input, from that of the result and the input.
    ///
    /// # Errors
    ///
    /// For planes of more elements than kernels count; where the device fails.
    fn launch_max_pool2d_backward(
        &self,
        tensors: [&Tensor<Self>; 3],
        config: MaxPool2dConfig,
    ) -> Result<(), Self>;
}

pub fn max_pool2d<D: MaxPool2dKernels>(
    device: &D,
    input: &Tensor<D>,
    config: MaxPool2dConfig,
) -> Result<Tensor<D>, D> {
    let shape = shape::max_pool2d(input.shape(), config)?;
    let dtype = operands::float(Op::MAX_POOL2D, [input.dtype()])?;
    device.check_owners(&[input])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_max_pool2d([input, &result], config)?;
    Ok(result)
}

pub fn max_pool2d_backward<D: MaxPool2dKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    config: MaxPool2dConfig,
) -> Result<Tensor<D>, D> {
    let shape = shape::max_pool2d(input.shape(), config)?;
    let dtype = operands::float(Op::MAX_POOL2D, [input.dtype()])?;
    operands::grad(Op::MAX_POOL2D, (grad.dtype(), grad.shape()), &shape, dtype)?;
    device.check_owners(&[grad, input])?;
    let result = device.unset(dtype, input.shape())?;
    device.launch_max_pool2d_backward([grad, input, &result], config)?;
    Ok(result)
}
