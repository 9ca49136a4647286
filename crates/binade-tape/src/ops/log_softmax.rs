//! Logarithm of softmax.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::LogSoftmax;

impl<D: Device + LogSoftmax> Var<D> {
    /// Returns `self − ln Σ exp(self)` over the last axis: see [`LogSoftmax`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn log_softmax(&self) -> Outcome<D> {
        let [x] = self.operands(Op::LOG_SOFTMAX, [self])?;
        let output = self.tape().device().log_softmax(&x.tensor)?;
        let kept = output.clone();
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.log_softmax_backward(grad, &kept)?]))
        };
        Ok(self.push(Op::LOG_SOFTMAX, &[&x], &Saves::Output, output, rule))
    }
}
