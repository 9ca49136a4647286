//! Elementwise sum.

use crate::Handle;

/// Sum `a + b` of tensors of one shape; gradients of a value used twice are accumulated with it.
///
/// # For implementers
///
/// * Added in f32 whatever the storage, and narrowed once, to nearest even.
/// * No broadcasting; the result has the element type that both operands have.
pub trait Add: Handle {
    /// Returns the sum.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn add(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of both operands, each equal to `grad`.
    ///
    /// # Errors
    ///
    /// If the device fails.
    fn add_backward(&self, grad: &Self::Tensor) -> Result<[Self::Tensor; 2], Self::Error>;
}
