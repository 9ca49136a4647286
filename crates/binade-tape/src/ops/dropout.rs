//! Dropout: zeroes elements at random and scales the rest.

use super::{Outcome, Saves, all};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::Dropout;

impl<D: Device + Dropout> Var<D> {
    /// Zeroes elements of `self` with probability `p`, by `key` (two i64: seed and counter), and scales the rest: see
    /// [`Dropout`].
    ///
    /// No mask is kept: backward computes it again.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, `p` is no probability, or the device fails.
    pub fn dropout(&self, key: &D::Tensor, p: f32) -> Outcome<D> {
        let [x] = self.operands(Op::DROPOUT, [self])?;
        let output = self.tape().device().dropout(&x.tensor, key, p)?;
        let key = key.clone();
        let rule =
            move |device: &D, grad: &D::Tensor| Ok(all([device.dropout_backward(grad, &key, p)?]));
        Ok(self.push(Op::DROPOUT, &[&x], &Saves::Nothing, output, rule))
    }
}
