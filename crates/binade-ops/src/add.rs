//! Elementwise sum.

use binade_core::Handle;

/// `a + b` for tensors of one shape; what gradients of a value used twice are accumulated with.
///
/// # For implementers
///
/// * Added in f32 whatever the storage, and narrowed once, to nearest even.
/// * No broadcasting; the result has the element type that both operands have.
pub trait Add: Handle {
    /// The sum.
    ///
    /// # Errors
    ///
    /// `Mismatch` where the operands differ in shape or element type.
    fn add(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// The gradients of both operands, each `grad` as it is.
    ///
    /// # Errors
    ///
    /// When the device fails.
    fn add_backward(&self, grad: &Self::Tensor) -> Result<[Self::Tensor; 2], Self::Error>;
}
