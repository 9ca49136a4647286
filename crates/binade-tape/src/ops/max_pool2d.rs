//! Largest element of each window.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::{MaxPool2d, MaxPool2dConfig, OpInvocation};

impl<D: Device + MaxPool2d> Var<D> {
    /// Returns the largest element of each window of images `self`, [N, C, H, W] unless the layout says otherwise: see [`MaxPool2d`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn max_pool2d(&self, config: MaxPool2dConfig) -> Outcome<D> {
        let [x] = self.operands(Op::MAX_POOL2D, [self])?;
        let output = self.tape().device().max_pool2d(&x.tensor, config)?;
        let kept = x.tensor.clone();
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.max_pool2d_backward(grad, &kept, config)?]))
        };
        let call = OpInvocation::MaxPool2dBackward { config };
        Ok(self.push_call(Op::MAX_POOL2D, &[&x], &Saves::Inputs(&[&x]), output, rule, call))
    }
}
