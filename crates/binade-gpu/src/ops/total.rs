//! Sums over whole tensors, and their gradients, which are one value everywhere.

use super::check;
use crate::{Driver, Result, Tensor};
use binade_core::ops::OpInvocation;
use binade_core::{DType, TensorSpec};

/// Kind of reduction of all elements to a scalar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Total {
    /// Sum; 0 of no elements.
    Sum,
    /// Mean; NaN of no elements.
    Mean,
    /// Mean of the squares of differences; NaN of no elements.
    MseLoss,
}

/// Driver with kernels of sums over whole tensors.
pub trait TotalKernels: Driver {
    /// Computes the f32 scalar `result` from operands with the same shape and element type. The order of additions depends only on the number of
    /// elements.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_total(
        &self,
        total: Total,
        operands: &[&Tensor<Self>],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Fills `result` with the gradient of a sum or a mean. That of a mean is divided by the number of elements.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](crate::Error::Unsupported) for an element type without kernels, and an error if the device fails.
    fn launch_spread(
        &self,
        total: Total,
        grad: &Tensor<Self>,
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes the gradients of input and target, `2·(x − y)·grad / count` and its negative, from the loss's gradient, input and target.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_mse_loss_backward(
        &self,
        operands: [&Tensor<Self>; 3],
        grads: [&Tensor<Self>; 2],
    ) -> Result<(), Self>;
}

/// Returns the f32 scalar of all elements.
pub(super) fn total<D: TotalKernels>(
    device: &D,
    total: Total,
    call: &OpInvocation,
    operands: &[&Tensor<D>],
) -> Result<Tensor<D>, D> {
    check(device, call, operands)?;
    let result = device.unset(DType::F32, &[])?;
    device.launch_total(total, operands, &result)?;
    Ok(result)
}

/// Returns the gradient of all elements from the scalar's gradient.
pub(super) fn spread<D: TotalKernels>(
    device: &D,
    total: Total,
    call: &OpInvocation,
    grad: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    let TensorSpec { dtype, shape } = check(device, call, &[grad])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_spread(total, grad, &result)?;
    Ok(result)
}
