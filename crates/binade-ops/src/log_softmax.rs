//! The logarithm of softmax.

use binade_core::Handle;

/// `x − ln Σ exp(x)` over the last axis.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * The largest element of each row is subtracted first, so that no finite row overflows.
/// * A row that holds a NaN or +inf, or nothing but −inf, is NaN throughout.
pub trait LogSoftmax: Handle {
    /// The result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` for a scalar, or an element type that is not floating-point.
    fn log_softmax(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// The gradient of the input, from what forward returned.
    ///
    /// # Errors
    ///
    /// `Mismatch` where `grad` and `output` differ in shape or element type.
    fn log_softmax_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
