//! Sigmoid linear unit.

use crate::Handle;

/// Sigmoid linear unit `x·σ(x)` with the logistic function `σ(x) = 1 / (1 + e^−x)` (Elfwing, Uchibe, Doya 2017, arXiv
/// 1702.03118): torch's `silu`, also named swish.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * No exponential of a finite input overflows: far below 0 the result keeps its digits, and is no NaN.
/// * NaN and −∞ give NaN, and so do gradients at them and at +∞, which itself gives +∞: torch's values.
pub trait Silu: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn silu(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, from forward's input.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `input` differ in shape or element type.
    fn silu_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
