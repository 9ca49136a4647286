//! Softmax.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Softmax;

impl<D: Device + Softmax> Var<D> {
    /// Returns `exp(self) / Σ exp(self)` over the last axis: see [`Softmax`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn softmax(&self) -> Outcome<D> {
        let [x] = self.operands(Op::SOFTMAX, [self])?;
        let output = self.tape().device().softmax(&x.tensor)?;
        let kept = output.clone();
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all([device.softmax_backward(grad, &kept)?]));
        Ok(self.push(Op::SOFTMAX, &[&x], &Saves::Output, output, rule))
    }
}
