//! Square root.

use crate::Handle;

/// Square root.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * The root of −0 is −0. That of any other negative number is NaN, and so is that of NaN.
/// * Backward divides `grad` by twice the output, in f32: at 0 the result is infinite, or NaN if `grad` is 0 too.
pub trait Sqrt: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn sqrt(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `grad / (2 · output)`, the gradient of the input.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `output` differ in shape or element type.
    fn sqrt_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
