//! Rectified linear unit.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Relu;

impl<D: Device + Relu> Var<D> {
    /// Returns `max(self, 0)`: see [`Relu`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn relu(&self) -> Outcome<D> {
        let [x] = self.operands(Op::RELU, [self])?;
        let output = self.tape().device().relu(&x.tensor)?;
        let kept = output.clone();
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all([device.relu_backward(grad, &kept)?]));
        Ok(self.push(Op::RELU, &[&x], &Saves::Output, output, rule))
    }
}
