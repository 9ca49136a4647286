//! Linear layer with the rectified linear unit behind it.

use crate::ops::{AffineGrads, Linear, Relu, WeightGrads};

/// Linear layer with `ReLU`: `max(x·Wᵀ + b, 0)`, of the operands of [`Linear`].
///
/// The provided methods call both operations, one behind the other. A device that computes products itself may apply `ReLU` before
/// it writes an element, and saves a pass over the result.
///
/// # For implementers
///
/// * Each element has the bits that `relu` gives it of what `linear` gives: rounding keeps signs, so that it does not matter which
///   comes first.
/// * NaN stays NaN: a device whose own activation makes 0 of it does without that activation.
/// * Gradients are those of `linear` for what `relu` lets pass.
pub trait LinearRelu: Linear + Relu {
    /// Returns `max(x·Wᵀ + b, 0)`, of shape `[.., out]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn linear_relu(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: Option<&Self::Tensor>,
    ) -> Result<Self::Tensor, Self::Error> {
        self.relu(&self.linear(input, weight, bias)?)
    }

    /// Returns the gradients of the operands, from forward's result; `bias` is true if forward had one.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` and `output` have not the shape and element type of the result.
    fn linear_relu_backward(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Self::Tensor>, Self::Error> {
        self.linear_backward(&self.relu_backward(grad, output)?, input, weight, bias)
    }

    /// Returns only the gradients of weight and bias, with the same bits.
    ///
    /// # Errors
    ///
    /// The errors of [`linear_relu_backward`](Self::linear_relu_backward).
    fn linear_relu_backward_of_weight(
        &self,
        grad: &Self::Tensor,
        output: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
    ) -> Result<WeightGrads<Self::Tensor>, Self::Error> {
        self.linear_backward_of_weight(&self.relu_backward(grad, output)?, input, weight, bias)
    }
}
