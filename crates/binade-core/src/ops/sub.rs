//! Elementwise difference.

use crate::Handle;

/// Difference `a − b` of tensors of one shape.
///
/// # For implementers
///
/// * Subtracted in f32 whatever the storage, and narrowed once, to nearest even.
/// * No broadcasting; the result has the element type that both operands have.
pub trait Sub: Handle {
    /// Returns the difference.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn sub(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `[grad, −grad]`.
    ///
    /// # Errors
    ///
    /// If the device fails.
    fn sub_backward(&self, grad: &Self::Tensor) -> Result<[Self::Tensor; 2], Self::Error>;
}
