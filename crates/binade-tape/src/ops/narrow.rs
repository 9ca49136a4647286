//! Part of a tensor along one axis.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::ops::Narrow;
use binade_core::{Op, OpClass};

const NARROW: Op = Op::custom("narrow", OpClass::Shape);

impl<D: Device + Narrow> Var<D> {
    /// Returns `len` places of an axis of `self`, from `start` on: see [`Narrow`]. No policy is asked, since nothing is computed.
    ///
    /// # Errors
    ///
    /// If `self` has no such axis or places, or the device fails.
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Outcome<D> {
        let [x] = self.seen(NARROW, [self])?;
        let output = self.tape().device().narrow(&x.tensor, axis, start, len)?;
        let shape = self.shape();
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.narrow_backward(grad, &shape, axis, start)?]))
        };
        Ok(self.push(NARROW, &[&x], &Saves::Nothing, output, rule))
    }
}
