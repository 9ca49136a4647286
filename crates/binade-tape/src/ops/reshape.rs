//! Reshaping: equal elements under another shape.

use super::{Outcome, linear_map::map};
use crate::{Device, Var};
use binade_core::ops::Reshape;
use binade_core::{Op, OpClass};

const RESHAPE: Op = Op::custom("reshape", OpClass::Shape);

impl<D: Device + Reshape> Var<D> {
    /// Returns `self` seen as `shape`: see [`Reshape`]. No policy applies, since nothing is computed.
    ///
    /// # Errors
    ///
    /// If the number of elements would change, or the device fails.
    pub fn reshape(&self, shape: &[usize]) -> Outcome<D> {
        let to =
            |shape: Vec<usize>| map(move |device: &D, x: &D::Tensor| device.reshape(x, &shape));
        let output = self.linear_map(RESHAPE, [to(shape.to_vec()), to(self.shape())])?;
        Ok(output.sharing(self.value().storage))
    }
}
