//! Matrix product.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::MatMul;

impl<D: Device + MatMul> Var<D> {
    /// Returns `self·other` for matrices: see [`MatMul`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn matmul(&self, other: &Self) -> Outcome<D> {
        let [a, b] = self.operands(Op::MATMUL, [self, other])?;
        let output = self.tape().device().matmul(&a.tensor, &b.tensor)?;
        let (left, right) = (a.tensor.clone(), b.tensor.clone());
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all(device.matmul_backward(grad, &left, &right)?))
        };
        let inputs = [&a, &b];
        Ok(self.push(Op::MATMUL, &inputs, &Saves::Inputs(&inputs), output, rule))
    }
}
