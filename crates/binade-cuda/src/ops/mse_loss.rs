//! Mean squared error.

use super::total::TOTAL2;
use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::Kernel,
    launch::{
        Arg,
        Param::{Address, U32, U64},
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{MseLoss, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&MSE_LOSS, &MSE_LOSS_BACKWARD];

const MSE_LOSS: Kernel = Kernel { name: "mse_loss", module: "mse_loss", params: TOTAL2 };
const MSE_LOSS_BACKWARD: Kernel = Kernel {
    name: "mse_loss_backward",
    module: "mse_loss",
    params: &[Address, Address, Address, U32, U64, Address, Address],
};

impl MseLoss for Cuda {
    fn mse_loss(&self, input: &Tensor, target: &Tensor) -> Result<Tensor, Error> {
        shape::mse_loss(input.shape(), target.shape())?;
        let dtype = operands::float(Op::MSE_LOSS, &[input, target])?;
        self.total(&MSE_LOSS, &[input, target], dtype)
    }

    fn mse_loss_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        target: &Tensor,
    ) -> Result<[Tensor; 2], Error> {
        operands::scalar_grad(Op::MSE_LOSS, grad)?;
        shape::mse_loss(input.shape(), target.shape())?;
        let dtype = operands::float(Op::MSE_LOSS, &[input, target])?;
        self.has_made_all(&[grad, input, target])?;
        let grads = [self.unset(dtype, input.shape())?, self.unset(dtype, target.shape())?];
        let args = [
            Arg::Address(grad.address()),
            Arg::Address(input.address()),
            Arg::Address(target.address()),
            Arg::U32(code("mse_loss", dtype)?),
            Arg::U64(input.len() as u64),
            Arg::Address(grads[0].address()),
            Arg::Address(grads[1].address()),
        ];
        self.launch(&MSE_LOSS_BACKWARD, elementwise(input.len()), &args)?;
        Ok(grads)
    }
}
