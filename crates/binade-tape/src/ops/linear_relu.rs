//! Linear layer with the rectified linear unit behind it.

use super::{
    Outcome, Saves,
    linear::{Affine, but_for_input, in_order},
};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{LinearRelu, OpInvocation};

impl<D: Device + LinearRelu> Var<D> {
    /// Returns `max(self·weightᵀ + bias, 0)`, of shape [.., out]: see [`LinearRelu`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn linear_relu(&self, weight: &Self, bias: Option<&Self>) -> Outcome<D> {
        let operands = Affine::new(Op::LINEAR_RELU, self, weight, bias)?;
        let (x, w, b) = (operands.input(), operands.weight(), operands.bias());
        let output = self.tape().device().linear_relu(x, w, b)?;
        let (x, w, b, wants_input) = (x.clone(), w.clone(), b.is_some(), operands.wants_input());
        let kept = output.clone();
        let (inputs, rule) = (operands.all(), move |device: &D, grad: &D::Tensor| {
            if !wants_input {
                let grads = device.linear_relu_backward_of_weight(grad, &kept, &x, &w, b)?;
                return Ok(but_for_input::<D>(grads));
            }
            Ok(in_order::<D>(device.linear_relu_backward(grad, &kept, &x, &w, b)?))
        });
        let saves = Saves::InputsAndOutput(&inputs[..2]);
        let call = OpInvocation::LinearReluBackward { bias: inputs.len() > 2 };
        Ok(self.push_call(Op::LINEAR_RELU, &inputs, &saves, output, rule, call))
    }
}
