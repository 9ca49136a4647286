//! Elementwise sum.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_ops::Add;

impl<D: Device> Var<D> {
    /// Returns `self + other`, elementwise: see [`Add`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn add(&self, other: &Self) -> Outcome<D> {
        let [a, b] = self.operands(Op::ADD, [self, other])?;
        let output = Add::add(self.tape().device(), &a.tensor, &b.tensor)?;
        let rule = |device: &D, grad: &D::Tensor| Ok(all(device.add_backward(grad)?));
        Ok(self.push(Op::ADD, &[&a, &b], &Saves::Nothing, output, rule))
    }
}
