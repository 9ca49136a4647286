//! Two-dimensional convolution.

use crate::{AffineGrads, WeightGrads};
use binade_core::Handle;

/// How a kernel moves over an image. The default is stride 1 without padding.
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
    /// The convolution.
    ///
    /// # Errors
    ///
    /// `Mismatch` where shapes or element types do not agree or the kernel is larger than the padded image;
    /// `InvalidArgument` for a stride of 0.
    fn conv2d(
        &self,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: Option<&Self::Tensor>,
        config: Conv2dConfig,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Gradients of the operands; `bias` says whether there was one.
    ///
    /// # Errors
    ///
    /// `Mismatch` where `grad` has not the shape and element type of the result.
    fn conv2d_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        weight: &Self::Tensor,
        bias: bool,
        config: Conv2dConfig,
    ) -> Result<AffineGrads<Self::Tensor>, Self::Error>;

    /// The same, bit for bit, but for the input's gradient, which nobody wants of images. A device that says no more than
    /// [`conv2d_backward`](Self::conv2d_backward) computes it and drops it.
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
