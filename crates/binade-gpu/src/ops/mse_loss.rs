//! Mean squared error.

use super::total::{Total, TotalKernels, total};
use crate::{Result, Tensor};
use binade_core::Op;
use binade_ops::{operands, shape};

pub fn mse_loss<D: TotalKernels>(
    device: &D,
    input: &Tensor<D>,
    target: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    shape::mse_loss(input.shape(), target.shape())?;
    operands::float(Op::MSE_LOSS, [input.dtype(), target.dtype()])?;
    total(device, Total::MseLoss, &[input, target])
}

pub fn mse_loss_backward<D: TotalKernels>(
    device: &D,
    grad: &Tensor<D>,
    input: &Tensor<D>,
    target: &Tensor<D>,
) -> Result<[Tensor<D>; 2], D> {
    operands::scalar_grad(Op::MSE_LOSS, (grad.dtype(), grad.shape()))?;
    shape::mse_loss(input.shape(), target.shape())?;
    let dtype = operands::float(Op::MSE_LOSS, [input.dtype(), target.dtype()])?;
    device.check_owners(&[grad, input, target])?;
    let grads = [device.unset(dtype, input.shape())?, device.unset(dtype, target.shape())?];
    device.launch_mse_loss_backward([grad, input, target], [&grads[0], &grads[1]])?;
    Ok(grads)
}
