//! Elementwise product.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Mul;

impl<D: Device + Mul> Var<D> {
    /// Returns `self · other`, elementwise: see [`Mul`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn mul(&self, other: &Self) -> Outcome<D> {
        let [a, b] = self.operands(Op::MUL, [self, other])?;
        let output = self.tape().device().mul(&a.tensor, &b.tensor)?;
        let (left, right) = (a.tensor.clone(), b.tensor.clone());
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all(device.mul_backward(grad, &left, &right)?));
        let inputs = [&a, &b];
        Ok(self.push(Op::MUL, &inputs, &Saves::Inputs(&inputs), output, rule))
    }
}
