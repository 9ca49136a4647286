//! Two-dimensional convolution.

use super::{
    Outcome, Saves,
    linear::{Affine, but_for_input, in_order},
};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{Conv2d, Conv2dConfig, OpInvocation};

impl<D: Device + Conv2d> Var<D> {
    /// Convolves images `self`, [N, C, H, W] unless the layout says otherwise, with `weight` [O, C / groups, KH, KW], plus `bias` of O: see [`Conv2d`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn conv2d(&self, weight: &Self, bias: Option<&Self>, config: Conv2dConfig) -> Outcome<D> {
        let operands = Affine::new(Op::CONV2D, self, weight, bias)?;
        let (x, w, b) = (operands.input(), operands.weight(), operands.bias());
        let output = self.tape().device().conv2d(x, w, b, config)?;
        let (x, w, b, wants_input) = (x.clone(), w.clone(), b.is_some(), operands.wants_input());
        let (inputs, rule) = (operands.all(), move |device: &D, grad: &D::Tensor| {
            if !wants_input {
                let grads = device.conv2d_backward_of_weight(grad, &x, &w, b, config)?;
                return Ok(but_for_input::<D>(grads));
            }
            Ok(in_order::<D>(device.conv2d_backward(grad, &x, &w, b, config)?))
        });
        let call = OpInvocation::Conv2dBackward { bias: inputs.len() > 2, config };
        Ok(self.push_call(Op::CONV2D, &inputs, &Saves::Inputs(&inputs[..2]), output, rule, call))
    }
}
