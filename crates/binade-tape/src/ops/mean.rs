//! Mean of all elements.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Mean;

impl<D: Device + Mean> Var<D> {
    /// Returns the mean of all elements, an `f32` scalar: see [`Mean`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operand does not fit, or the device fails.
    pub fn mean(&self) -> Outcome<D> {
        let operands = self.operands_of_f32(Op::MEAN, &[self])?;
        let x = &operands[0];
        let output = self.tape().device().mean(&x.tensor)?;
        let (shape, dtype) = (self.shape(), x.dtype());
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.mean_backward(grad, &shape, dtype)?]))
        };
        Ok(self.push(Op::MEAN, &[x], &Saves::Nothing, output, rule))
    }
}
