//! Two-dimensional convolution.

use crate::Handle;
use crate::ops::{AffineGrads, WeightGrads};

/// Stride and padding of a convolution. The default is stride 1 without padding.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Conv2dConfig {
    /// Rows and columns between neighbouring windows; at least 1.
    pub stride: [usize; 2],
    /// Rows and columns of zeros added on either side.
    pub padding: [usize; 2],
}

impl Default for Conv2dConfig {
    fn default() -> Self {
        Self { stride: [1, 1], padding: [0, 0] }
    }
}

/// Cross-correlation of images `[N, C, H, W]` with kernels `[O, C, KH, KW]`, plus bias `[O]`.
///
/// # For implementers
///
/// * The result is `[N, O, H', W']` with `H' = (H + 2·padding − KH) / stride + 1`, rounded down; `W'` alike.
/// * Products and bias are accumulated in f32 whatever the storage, and narrowed once, to nearest even.
/// * The result has the element type that all operands have.
/// * The weight's gradient is accumulated in f32 over the whole batch, and narrowed once.
pub trait Conv2d: Handle {
    /// Returns the convolution.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree or the kernel is larger than the padded image;
    /// `InvalidArgument` for a stride of 0.
    fn conv2d(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: Option<&Self::Tensor>,
        config: Conv2dConfig,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradients of the operands; `bias` is true if forward had one.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn conv2d_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Self::Tensor>, Self::Error>;

    /// Returns the gradients of weight and bias alone, with the same bits: images need no gradient. The provided method calls
    /// [`conv2d_backward`](Self::conv2d_backward) and drops the input's.
    ///
    /// # Errors
    ///
    /// As [`conv2d_backward`](Self::conv2d_backward).
    fn conv2d_backward_of_weight(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<WeightGrads<Self::Tensor>, Self::Error> {
        self.conv2d_backward(grad, input, weight, bias, config).map(Into::into)
    }
}
