//! Mean squared error.

use super::check;
use super::total::{Total, TotalKernels, total};
use crate::{Result, Tensor};
use binade_ops::{OpInvocation};

pub fn mse_loss<D: TotalKernels>(
    device: &D,
    input: &Tensor<D>,
    target: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    total(device, Total::MseLoss, &OpInvocation::MseLoss, &[input, target])
}

pub fn mse_loss_backward<D: TotalKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    target: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    let call = OpInvocation::MseLossBackward; let dtype = check(device, &call, &[grad, input, target])?.dtype;
    let grads = [device.unset(dtype, input.shape())?, device.unset(dtype, target.shape())?];
    device.launch_mse_loss_backward([grad, input, target], [&grads[0], &grads[1]])?;
    Ok(grads)
}
