//! Normalisation over groups of channels.

use crate::Handle;
use crate::ops::NormGrads;

/// Group normalisation: `(x − mean) / √(var + eps) · weight + bias` of `[N, C, ..]`, with mean and biased variance of each sample's
/// groups of `C / groups` neighbouring channels (Wu and He 2018, arXiv 1803.08494; torch's `group_norm`).
///
/// # For implementers
///
/// * Mean, variance and everything after them are f32 whatever the storage; the result is narrowed once, to nearest
///   even, to the input's element type.
/// * `weight` and `bias`, `[C]` each, scale and move each channel. They have one element type: the input's, or f32.
/// * Backward computes the statistics again from `input`; nothing is kept between the passes.
pub trait GroupNorm: Handle {
    /// Returns the normalised input, in its shape.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree, or groups do not divide the channels; `InvalidArgument` for 0 groups.
    fn group_norm(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: &Self::Tensor,
        groups: usize,
        eps: f32,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of the operands; the bias' has the element type of `weight`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn group_norm_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        groups: usize,
        eps: f32,
    ) -> Result<NormGrads<Self::Tensor>, Self::Error>;
}
