//! Dropout: zeroes elements at random and scales the rest.

use super::{Outcome, Saves, linear_map::map};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::Dropout;

impl<D: Device + Dropout> Var<D> {
    /// Zeroes elements of `self` with probability `p`, by `key` (two i64: seed and counter), and scales the rest: see
    /// [`Dropout`].
    ///
    /// Backward recomputes the mask instead of keeping it.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, `p` is not a probability, or the device fails.
    pub fn dropout(&self, key: &D::Tensor, p: f32) -> Outcome<D> {
        let [x] = self.operands(Op::DROPOUT, [self])?;
        let output = self.tape().device().dropout(&x.tensor, key, p)?;
        let [of, back] = [key.clone(), key.clone()];
        let drop = map(move |device: &D, x: &D::Tensor| device.dropout(x, &of, p));
        let back = map(move |device: &D, x: &D::Tensor| device.dropout_backward(x, &back, p));
        Ok(self.push_linear(Op::DROPOUT, &[&x], &Saves::Nothing, output, [drop, back]))
    }
}
