//! Rectified linear unit.

use crate::Handle;

/// Rectified linear unit: `max(x, 0)`.
///
/// # For implementers
///
/// * NaN stays NaN, and passes its gradient on.
/// * Zero of either sign gives +0.
/// * The gradient at 0 is 0.
pub trait Relu: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn relu(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, from forward's result.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `output` differ in shape or element type.
    fn relu_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
