//! Matrix product.

use crate::Handle;

/// Product `A·B` of matrices `A` `[M, K]` and `B` `[K, N]`.
///
/// # For implementers
///
/// * Products are accumulated in f32 whatever the storage, and narrowed once, to nearest even.
/// * The result has the element type that both operands have.
/// * An inner extent of 0 gives zeros.
pub trait MatMul: Handle {
    /// Returns `A·B`, of shape `[M, N]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn matmul(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns `[grad·Bᵀ, Aᵀ·grad]`, each in the element type of its operand.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the product.
    fn matmul_backward(
        &self,
        grad: &Self::Tensor,
        a: &Self::Tensor,
        b: &Self::Tensor,
    ) -> Result<[Self::Tensor; 2], Self::Error>;
}
