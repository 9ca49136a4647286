//! Mean squared error.

use super::{
    check,
    total::{Total, TotalKernels, total},
};
use crate::{Gpu, Result, Tensor};
use binade_core::ops::OpInvocation;

impl<D: TotalKernels> binade_core::ops::MseLoss for Gpu<'_, D> {
    fn mse_loss(&self, input: &Tensor<D>, target: &Tensor<D>) -> Result<Tensor<D>, D> {
        total(self.0, Total::MseLoss, &OpInvocation::MseLoss, &[input, target])
    }

    fn mse_loss_backward(
        &self,
        grad: &Tensor<D>,
        input: &Tensor<D>,
        target: &Tensor<D>,
    ) -> Result<[Tensor<D>; 2], D> {
        let call = OpInvocation::MseLossBackward;
        let dtype = check(self.0, &call, &[grad, input, target])?.dtype;
        let grads = [self.0.unset(dtype, input.shape())?, self.0.unset(dtype, target.shape())?];
        self.0.launch_mse_loss_backward([grad, input, target], [&grads[0], &grads[1]])?;
        Ok(grads)
    }
}
