//! Exponential.

use crate::Handle;

/// Exponential function `e^x`.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * Beyond the range the result is infinite or 0; subnormal results keep their digits.
/// * NaN gives NaN.
pub trait Exp: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn exp(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `grad · output`, the gradient of the input.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `output` differ in shape or element type.
    fn exp_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
