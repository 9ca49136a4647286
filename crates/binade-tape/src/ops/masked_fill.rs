//! Replacement of masked elements by one value.

use super::{Outcome, Saves, linear_map::map};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::MaskedFill;

impl<D: Device + MaskedFill> Var<D> {
    /// Returns `self` with `value` where `mask` is not 0: see [`MaskedFill`]. The mask has no gradient.
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the mask or the value does not fit, or the device fails.
    pub fn masked_fill(&self, mask: &D::Tensor, value: f32) -> Outcome<D> {
        let [x] = self.operands(Op::MASKED_FILL, [self])?;
        let output = self.tape().device().masked_fill(&x.tensor, mask, value)?;
        let mask = mask.clone();
        let rest = map(move |device: &D, x: &D::Tensor| device.masked_fill(x, &mask, 0.0));
        let maps = [rest.clone(), rest];
        Ok(self.push_linear(Op::MASKED_FILL, &[&x], &Saves::Nothing, output, maps))
    }
}
