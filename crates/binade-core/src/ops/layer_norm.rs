//! Normalisation over the last axis.

use crate::Handle;

/// Gradients of a normalisation, each in its operand's element type.
#[derive(Clone, Debug)]
pub struct NormGrads<T> {
    /// Gradient of the input.
    pub input: T,
    /// Gradient of the weight.
    pub weight: T,
    /// Gradient of the bias.
    pub bias: T,
}

/// Layer normalisation: `(x − mean) / √(var + eps) · weight + bias` over the last axis, with the biased variance (Ba, Kiros,
/// Hinton 2016, arXiv 1607.06450; torch's `layer_norm`).
///
/// # For implementers
///
/// * Mean, variance and everything after them are f32 whatever the storage; the result is narrowed once, to nearest
///   even, to the input's element type.
/// * `weight` and `bias`, each of the last axis' extent, have one element type: the input's, or f32.
/// * Backward computes the statistics again from `input`; nothing is kept between the passes.
pub trait LayerNorm: Handle {
    /// Returns the normalised input, in its shape.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn layer_norm(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: &Self::Tensor,
        eps: f32,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of the operands; the bias' has the element type of `weight`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn layer_norm_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        eps: f32,
    ) -> Result<NormGrads<Self::Tensor>, Self::Error>;
}
