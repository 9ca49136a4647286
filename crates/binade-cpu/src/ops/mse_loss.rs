//! Mean squared error.

use super::{
    operands::{self, check},
    pointwise,
};
use crate::{Cpu, Error, Tensor, reduce};
use binade_core::Op;
use binade_core::ops::{MseLoss, OpInvocation};

impl MseLoss for Cpu {
    fn mse_loss(&self, input: &Tensor, target: &Tensor) -> Result<Tensor, Error> {
        check(&OpInvocation::MseLoss, &[input, target])?;
        let (x, y) = (input.to_f32(), target.to_f32());
        let square = |x: f32, y: f32| (f64::from(x) - f64::from(y)).powi(2);
        let sum =
            reduce::blocks(x.len(), |block| reduce::run2(&x[block.clone()], &y[block], square));
        Ok(Tensor::scalar(reduce::round(sum / reduce::count(x.len()))))
    }

    fn mse_loss_backward(
        &self,
        grad: &Tensor,
        input: &Tensor,
        target: &Tensor,
    ) -> Result<[Tensor; 2], Error> {
        let spec = check(&OpInvocation::MseLossBackward, &[grad, input, target])?;
        let grad = f64::from(operands::scalar_grad(Op::MSE_LOSS, grad)?);
        let factor = reduce::round(2.0 * grad / reduce::count(input.len()));
        let towards = |x, y| pointwise::zip_as(&spec, x, y, |x, y| (x - y) * factor);
        Ok([towards(input, target)?, towards(target, input)?])
    }
}
