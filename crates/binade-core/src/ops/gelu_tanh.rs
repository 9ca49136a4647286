//! Approximation of the Gaussian error linear unit.

use crate::Handle;

/// Gaussian error linear unit by a hyperbolic tangent, `x·(1 + tanh u) / 2` with `u = √(2/π)·(x + 0.044715·x³)` (Hendrycks, Gimpel
/// 2016, arXiv 1606.08415): torch's `gelu` with `approximate="tanh"`, the activation of GPT-2. [`Gelu`](super::Gelu) is exact.
///
/// # For implementers
///
/// * Computed in f32 whatever the storage, and narrowed once, to nearest even.
/// * The lower tail keeps its digits, as `x / (1 + e^(−2u))` does: the difference `1 + tanh u` would lose them.
/// * NaN gives NaN. At ±∞ the result is `∞` and `−0`, and the gradient is multiplied by 1 and 0.
pub trait GeluTanh: Handle {
    /// Returns the result, in the shape and element type of `input`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if the element type is not floating-point.
    fn gelu_tanh(&self, input: &Self::Tensor) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, from forward's input.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `input` differ in shape or element type.
    fn gelu_tanh_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;
}
