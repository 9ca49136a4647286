//! Mean squared error.

use super::{operands, scalar};
use crate::{Deferred, Error, Tensor};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{MseLoss, shape};

impl MseLoss for Deferred {
    fn mse_loss(&self, input: &Tensor, target: &Tensor) -> Result<Tensor, Error> {
        shape::mse_loss(input.shape(), target.shape())?;
        operands::float(Op::MSE_LOSS, &[input, target])?;
        Ok(self.tensor(&[input, target], scalar(), |t| Cpu.mse_loss(t[0], t[1])))
    }

    fn mse_loss_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        target: &Tensor,
    ) -> Result<[Tensor; 2], Error> {
        operands::scalar_grad(Op::MSE_LOSS, grad)?;
        shape::mse_loss(input.shape(), target.shape())?;
        operands::float(Op::MSE_LOSS, &[input, target])?;
        let likes = [input.like(), target.like()];
        let work = |t: &[&_]| Cpu.mse_loss_backward(t[0], t[1], t[2]);
        Ok(self.tensors(&[grad, input, target], likes, work))
    }
}
