//! Batch of matrix products.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Bmm;

impl<D: Device + Bmm> Var<D> {
    /// Returns `self·other` for each pair of matrices: see [`Bmm`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn bmm(&self, other: &Self) -> Outcome<D> {
        let [a, b] = self.operands(Op::BMM, [self, other])?;
        let output = self.tape().device().bmm(&a.tensor, &b.tensor)?;
        let (left, right) = (a.tensor.clone(), b.tensor.clone());
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all(device.bmm_backward(grad, &left, &right)?));
        let inputs = [&a, &b];
        Ok(self.push(Op::BMM, &inputs, &Saves::Inputs(&inputs), output, rule))
    }
}
