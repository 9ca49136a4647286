//! Reshaping: equal elements under another shape.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::ops::Reshape;
use binade_core::{Op, OpClass};

const RESHAPE: Op = Op::custom("reshape", OpClass::Shape);

impl<D: Device + Reshape> Var<D> {
    /// Returns `self` seen as `shape`: see [`Reshape`]. No policy is asked, since nothing is computed.
    ///
    /// # Errors
    ///
    /// If the number of elements would change, or the device fails.
    pub fn reshape(&self, shape: &[usize]) -> Outcome<D> {
        let [x] = self.seen(RESHAPE, [self])?;
        let output = self.tape().device().reshape(&x.tensor, shape)?;
        let before = self.shape();
        let rule = move |device: &D, grad: &D::Tensor| Ok(all([device.reshape(grad, &before)?]));
        let output = self.push(RESHAPE, &[&x], &Saves::Nothing, output, rule);
        Ok(output.sharing(x.storage))
    }
}
