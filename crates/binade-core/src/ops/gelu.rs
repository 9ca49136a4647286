//! Gaussian error linear unit.

use crate::Handle;

/// Gaussian error linear unit `x·Φ(x)` with the normal distribution function `Φ(x) = (1 + erf(x/√2)) / 2` (Hendrycks, Gimpel
/// 2016, arXiv 1606.08415): the exact form, torch's default.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * NaN gives NaN.
pub trait Gelu: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn gelu(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, from forward's input.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `input` differ in shape or element type.
    fn gelu_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
