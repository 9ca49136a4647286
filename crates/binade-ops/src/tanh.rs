//! The hyperbolic tangent.

use binade_core::Handle;

/// `tanh(x)`.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * NaN gives NaN.
pub trait Tanh: Handle {
    /// The result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` where the element type is not floating-point.
    fn tanh(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// The gradient of the input, from what forward returned.
    ///
    /// # Errors
    ///
    /// `Mismatch` where `grad` and `output` differ in shape or element type.
    fn tanh_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
