//! Hyperbolic tangent.

use crate::Handle;

/// Hyperbolic tangent: `tanh(x)`.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * NaN gives NaN.
pub trait Tanh: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn tanh(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, from forward's result.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `output` differ in shape or element type.
    fn tanh_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
