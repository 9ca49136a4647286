//! Sum of all elements.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Sum;

impl<D: Device + Sum> Var<D> {
    /// Returns the sum of all elements, an `f32` scalar: see [`Sum`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn sum(&self) -> Outcome<D> {
        let operands = self.operands_of_f32(Op::SUM, &[self])?;
        let x = &operands[0];
        let output = self.tape().device().sum(&x.tensor)?;
        let (shape, dtype) = (self.shape(), x.dtype());
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.sum_backward(grad, &shape, dtype)?]))
        };
        Ok(self.push(Op::SUM, &[x], &Saves::Nothing, output, rule))
    }
}
