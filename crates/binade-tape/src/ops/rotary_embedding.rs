//! Rotary position embedding.

use super::{Outcome, Saves, linear_map::map};
use crate::{Device, Var};
use binade_core::Op;
use binade_core::ops::RotaryEmbedding;

impl<D: Device + RotaryEmbedding> Var<D> {
    /// Rotates pairs of elements of `self` [.., L, E] by tables of cosines and sines, f32 [L, E / 2]: see [`RotaryEmbedding`].
    ///
    /// # Errors
    ///
    /// If the region's policy refuses, the operands do not fit, or the device fails.
    pub fn rotary_embedding(&self, cos: &D::Tensor, sin: &D::Tensor) -> Outcome<D> {
        let [x] = self.operands(Op::ROTARY_EMBEDDING, [self])?;
        let output = self.tape().device().rotary_embedding(&x.tensor, cos, sin)?;
        let [of, back] = [(cos.clone(), sin.clone()), (cos.clone(), sin.clone())];
        let rotate = move |device: &D, x: &D::Tensor| device.rotary_embedding(x, &of.0, &of.1);
        let back =
            move |device: &D, x: &D::Tensor| device.rotary_embedding_backward(x, &back.0, &back.1);
        let maps = [map(rotate), map(back)];
        Ok(self.push_linear(Op::ROTARY_EMBEDDING, &[&x], &Saves::Nothing, output, maps))
    }
}
