//! Linear layer.

use super::{
    Outcome, Saves,
    affine::{Affine, but_for_input, in_order},
};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Linear;

impl<D: Device + Linear> Var<D> {
    /// Returns `self·weightᵀ + bias`, of shape [.., out]: see [`Linear`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn linear(&self, weight: &Self, bias: Option<&Self>) -> Outcome<D> {
        let operands = Affine::new(Op::LINEAR, self, weight, bias)?;
        let (x, w, b) = (operands.input(), operands.weight(), operands.bias());
        let output = self.tape().device().linear(x, w, b)?;
        let (x, w, b, wants_input) = (x.clone(), w.clone(), b.is_some(), operands.wants_input());
        let (inputs, rule) = (operands.all(), move |device: &D, grad: &D::Tensor| {
            if !wants_input {
                return Ok(but_for_input::<D>(device.linear_backward_of_weight(grad, &x, &w, b)?));
            }
            Ok(in_order::<D>(device.linear_backward(grad, &x, &w, b)?))
        });
        Ok(self.push(Op::LINEAR, &inputs, &Saves::Inputs(&inputs[..2]), output, rule))
    }
}
