//! Division by the root mean square over the last axis.

use crate::Handle;

/// Root mean square normalisation: `x / √(mean(x²) + eps) · weight` over the last axis (Zhang, Sennrich 2019, arXiv 1910.07467;
/// torch's `rms_norm`). Unlike [`LayerNorm`](super::LayerNorm) it subtracts no mean and adds no bias.
///
/// # For implementers
///
/// * The mean square and everything after it are f32 whatever the storage; the result is narrowed once, to nearest even, to the
///   input's element type.
/// * `weight`, of the last axis' extent, has the input's element type, or f32.
/// * Backward computes the mean square again from `input`; nothing is kept between the passes.
pub trait RmsNorm: Handle {
    /// Returns the normalised input, in its shape.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn rms_norm(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        eps: f32,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of the input and the weight, each in its operand's element type.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn rms_norm_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        eps: f32,
    ) -> Result<[Self::Tensor; 2], Self::Error>;
}
