//! Elementwise quotient.

use crate::Handle;

/// Quotient `a / b` of tensors of one shape.
///
/// # For implementers
///
/// * Divided in f32 whatever the storage, and narrowed once, to nearest even. Subnormal operands and results keep their digits.
/// * The gradient of `b` is rounded to f32 after each of its three steps, and narrowed once.
/// * No broadcasting; the result has the element type that both operands have.
pub trait Div: Handle {
    /// Returns the quotient.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn div(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `[grad / b, −grad · (a / b) / b]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn div_backward(
        &self,
        grad: &Self::Tensor,
        a: &Self::Tensor,
        b: &Self::Tensor,
    ) -> Result<[Self::Tensor; 2], Self::Error>;
}
