//! Linear layer.

use crate::Handle;

/// Gradients of an operation with an input, a weight and an optional bias, each in its operand's element type.
#[derive(Clone, Debug)]
pub struct AffineGrads<T> {
    /// Gradient of the input.
    pub input: T,
    /// Gradient of the weight.
    pub weight: T,
    /// Gradient of the bias, if there was one.
    pub bias: Option<T>,
}

/// Gradients of [`AffineGrads`] without the input's.
#[derive(Clone, Debug)]
pub struct WeightGrads<T> {
    /// Gradient of the weight.
    pub weight: T,
    /// Gradient of the bias, if there was one.
    pub bias: Option<T>,
}

impl<T> From<AffineGrads<T>> for WeightGrads<T> {
    fn from(AffineGrads { weight, bias, .. }: AffineGrads<T>) -> Self {
        Self { weight, bias }
    }
}

/// Linear layer `x·Wᵀ + b` for `x` `[.., in]`, `W` `[out, in]`, `b` `[out]`: the layout of torch's `nn.Linear`.
///
/// # For implementers
///
/// * Products and bias are accumulated in f32 whatever the storage, and narrowed once, to nearest even.
/// * The result has the element type that all operands have.
/// * The gradient of the bias is the sum of `grad` over all leading axes, accumulated in f32.
pub trait Linear: Handle {
    /// Returns `x·Wᵀ + b`, of shape `[.., out]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree.
    fn linear(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: Option<&Self::Tensor>,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of the operands; `bias` is true if forward had one.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn linear_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Self::Tensor>, Self::Error>;

    /// Returns only the gradients of weight and bias, with the same bits, for a model's first layer, whose input is data. The provided method calls
    /// [`linear_backward`](Self::linear_backward) and drops the input's.
    ///
    /// # Errors
    ///
    /// The errors of [`linear_backward`](Self::linear_backward).
    fn linear_backward_of_weight(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
    ) -> Result<WeightGrads<Self::Tensor>, Self::Error> {
        self.linear_backward(grad, input, weight, bias).map(Into::into)
    }
}
