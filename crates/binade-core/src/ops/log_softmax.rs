//! Logarithm of softmax.

use crate::Handle;

/// Logarithm of softmax: `x − ln Σ exp(x)` over the last axis.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * The largest element of each row is subtracted first, so that no finite row overflows.
/// * A row that holds a NaN or +inf, or nothing but −inf, is NaN throughout.
pub trait LogSoftmax: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` for a scalar, or an element type that is not floating-point.
    fn log_softmax(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, from forward's result.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `output` differ in shape or element type.
    fn log_softmax_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
