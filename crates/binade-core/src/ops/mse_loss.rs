//! Mean squared error.

use crate::Handle;

/// Mean of `(input − target)²` over all elements.
///
/// # For implementers
///
/// * Differences, squares and their sum are f32 whatever the storage; the loss is an f32 scalar (shape `[]`).
/// * The gradients are `±2·(input − target) · grad / count`, narrowed once to the operands' element type.
/// * The loss of no elements is NaN, as any mean of nothing.
pub trait MseLoss: Handle {
    /// Returns the loss.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the operands differ in shape or element type.
    fn mse_loss(
        &self,
        input: &Self::Tensor,
        target: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of input and target, for the f32 scalar `grad`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn mse_loss_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        target: &Self::Tensor,
    ) -> Result<[Self::Tensor; 2], Self::Error>;
}
