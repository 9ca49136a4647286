//! Hyperbolic tangent.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Tanh;

impl<D: Device + Tanh> Var<D> {
    /// Returns `tanh(self)`: see [`Tanh`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn tanh(&self) -> Outcome<D> {
        let [x] = self.operands(Op::TANH, [self])?;
        let output = self.tape().device().tanh(&x.tensor)?;
        let kept = output.clone();
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all([device.tanh_backward(grad, &kept)?]));
        Ok(self.push(Op::TANH, &[&x], &Saves::Output, output, rule))
    }
}
