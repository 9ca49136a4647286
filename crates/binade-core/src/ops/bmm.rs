//! Batch of matrix products.

use crate::Handle;

/// Products `A·B` for each pair of matrices of `A` `[.., M, K]` and `B` `[.., K, N]`, whose leading extents are equal.
///
/// # For implementers
///
/// * Each product is what [`MatMul`](crate::ops::MatMul) gives for the pair, bit for bit.
pub trait Bmm: Handle {
    /// Returns the products, of shape `[.., M, N]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree; leading extents are not broadcast.
    fn bmm(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `[grad·Bᵀ, Aᵀ·grad]` for each pair, in the element type of its operand.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the products.
    fn bmm_backward(
        &self,
        grad: &Self::Tensor,
        a: &Self::Tensor,
        b: &Self::Tensor,
    ) -> Result<[Self::Tensor; 2], Self::Error>;
}
