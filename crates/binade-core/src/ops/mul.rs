//! Elementwise product.

use crate::Handle;

/// Product `a · b` of tensors of one shape.
///
/// # For implementers
///
/// * Multiplied in f32 whatever the storage, and narrowed once, to nearest even.
/// * No broadcasting; the result has the element type that both operands have.
pub trait Mul: Handle {
    /// Returns the product.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn mul(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `[grad · b, grad · a]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn mul_backward(
        &self,
        grad: &Self::Tensor,
        a: &Self::Tensor,
        b: &Self::Tensor,
    ) -> Result<[Self::Tensor; 2], Self::Error>;
}
