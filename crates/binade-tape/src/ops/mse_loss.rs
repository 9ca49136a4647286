//! Mean squared error.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{MseLoss, OpInvocation};

impl<D: Device + MseLoss> Var<D> {
    /// Returns the mean of `(self − target)²`, an `f32` scalar: see [`MseLoss`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn mse_loss(&self, target: &Self) -> Outcome<D> {
        let operands = self.operands_of_f32(Op::MSE_LOSS, &[self, target])?;
        let inputs: Vec<_> = operands.iter().collect();
        let (input, target) = (inputs[0].tensor.clone(), inputs[1].tensor.clone());
        let output = self.tape().device().mse_loss(&input, &target)?;
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all(device.mse_loss_backward(grad, &input, &target)?))
        };
        let call = OpInvocation::MseLossBackward;
        Ok(self.push_call(Op::MSE_LOSS, &inputs, &Saves::Inputs(&inputs), output, rule, call))
    }
}
