//! A linear layer.

use binade_core::Handle;

/// Gradients of an operation with an input, a weight and perhaps a bias, each in its operand's element type.
#[derive(Clone, Debug)]
pub struct AffineGrads<T> {
    /// With respect to the input.
    pub input: T,
    /// With respect to the weight.
    pub weight: T,
    /// With respect to the bias, where there was one.
    pub bias: Option<T>,
}

/// Those of [`AffineGrads`] that are left where nobody wants the input's.
#[derive(Clone, Debug)]
pub struct WeightGrads<T> {
    /// With respect to the weight.
    pub weight: T,
    /// With respect to the bias, where there was one.
    pub bias: Option<T>,
}

impl<T> From<AffineGrads<T>> for WeightGrads<T> {
    fn from(AffineGrads { weight, bias, .. }: AffineGrads<T>) -> Self {
        Self { weight, bias }
    }
}

/// `x·Wᵀ + b` for `x` `[.., in]`, `W` `[out, in]`, `b` `[out]`: the layout of torch's `nn.Linear`.
///
/// # For implementers
///
/// * Products and bias are accumulated in f32 whatever the storage, and narrowed once, to nearest even.
/// * The result has the element type that all operands have.
/// * The gradient of the bias is the sum of `grad` over all leading axes, accumulated in f32.
pub trait Linear: Handle {
    /// `x·Wᵀ + b`, of shape `[.., out]`.
    ///
    /// # Errors
    ///
    /// `Mismatch` where shapes or element types do not agree.
    fn linear(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: Option<&Self::Tensor>,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Gradients of the operands; `bias` says whether there was one.
    ///
    /// # Errors
    ///
    /// `Mismatch` where `grad` has not the shape and element type of the result.
    fn linear_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
    ) -> Result<AffineGrads<Self::Tensor>, Self::Error>;

    /// The same, bit for bit, but for the input's gradient: a model's first layer is given data, whose gradient nobody wants. A
    /// device that says no more than [`linear_backward`](Self::linear_backward) computes it and drops it.
    ///
    /// # Errors
    ///
    /// As [`linear_backward`](Self::linear_backward).
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
