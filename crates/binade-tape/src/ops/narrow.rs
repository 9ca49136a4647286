//! Part of a tensor along one axis.

use super::{Outcome, linear_map::map};
use crate::{Device, Var};
use binade_core::ops::Narrow;
use binade_core::{Op, OpClass};

const NARROW: Op = Op::custom("narrow", OpClass::Shape);

impl<D: Device + Narrow> Var<D> {
    /// Returns `len` places of an axis of `self`, from `start` on: see [`Narrow`]. No policy applies, since nothing is computed.
    ///
    /// # Errors
    ///
    /// If the axis or the range does not exist, or the device fails.
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Outcome<D> {
        let shape = self.shape();
        let part = map(move |device: &D, x: &D::Tensor| device.narrow(x, axis, start, len));
        let back = move |device: &D, x: &D::Tensor| device.narrow_backward(x, &shape, axis, start);
        self.linear_map(NARROW, [part, map(back)])
    }
}
