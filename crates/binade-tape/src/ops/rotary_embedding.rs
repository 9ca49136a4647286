//! Rotary position embedding.

use super::{Outcome, Saves, all};
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
        let (cos, sin) = (cos.clone(), sin.clone());
        let rule = move |device: &D, grad: &D::Tensor| {
            Ok(all([device.rotary_embedding_backward(grad, &cos, &sin)?]))
        };
        Ok(self.push(Op::ROTARY_EMBEDDING, &[&x], &Saves::Nothing, output, rule))
    }
}
