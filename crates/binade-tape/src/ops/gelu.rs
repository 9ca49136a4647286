//! Gaussian error linear unit.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Gelu;

impl<D: Device + Gelu> Var<D> {
    /// Returns `self · Φ(self)`: see [`Gelu`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn gelu(&self) -> Outcome<D> {
        let [x] = self.operands(Op::GELU, [self])?;
        let output = self.tape().device().gelu(&x.tensor)?;
        let kept = x.tensor.clone();
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all([device.gelu_backward(grad, &kept)?]));
        Ok(self.push(Op::GELU, &[&x], &Saves::Inputs(&[&x]), output, rule))
    }
}
