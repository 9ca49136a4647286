//! Two-dimensional convolution.

use crate::Handle;
use crate::ops::{AffineGrads, ImageLayout, WeightGrads};

/// Stride, padding, dilation, groups and layout of a convolution. The default is stride 1 without padding, dilation or groups, channels
/// first.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Conv2dConfig {
    /// Rows and columns between neighbouring windows; at least 1.
    pub stride: [usize; 2],
    /// Rows and columns of zeros added on either side.
    pub padding: [usize; 2],
    /// Rows and columns of the image from one element of the kernel to the next; at least 1.
    pub dilation: [usize; 2],
    /// Number of equal parts of the input's channels, each of which gives an equal part of the result's; at least 1. As many as
    /// there are channels make a depthwise convolution.
    pub groups: usize,
    /// Order of the axes of the images and of the result.
    pub layout: ImageLayout,
}

impl Default for Conv2dConfig {
    fn default() -> Self {
        let layout = ImageLayout::ChannelsFirst;
        Self { stride: [1, 1], padding: [0, 0], dilation: [1, 1], groups: 1, layout }
    }
}

/// Cross-correlation of images, `[N, C, H, W]` unless the layout says otherwise, with kernels `[O, C / groups, KH, KW]`, plus bias `[O]`.
///
/// # For implementers
///
/// * The result is `[N, O, H', W']` with `H' = (H + 2·padding − dilation·(KH − 1) − 1) / stride + 1`, rounded down; `W'` alike.
/// * Group `g` of the outputs, of `O / groups` channels, has the products of its kernels with group `g` of the input's channels.
/// * Products and bias are accumulated in f32 whatever the storage, and narrowed once, to nearest even.
/// * The result has the element type that all operands have.
/// * With the channels last, images are `[N, H, W, C]` and the result is `[N, H', W', O]`; the weight and its gradient stay
///   `[O, C / groups, KH, KW]`.
/// * The weight's gradient is accumulated in f32 over the whole batch, and narrowed once.
pub trait Conv2d: Handle {
    /// Returns the convolution.
    ///
    /// # Errors
    ///
    /// `Mismatch` if shapes or element types do not agree, groups do not divide the channels, or the kernel is larger than the
    /// padded image; `InvalidArgument` for a stride, a dilation or groups of 0.
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

    /// Returns only the gradients of weight and bias, with the same bits, for images that need no gradient. The provided method calls
    /// [`conv2d_backward`](Self::conv2d_backward) and drops the input's.
    ///
    /// # Errors
    ///
    /// The errors of [`conv2d_backward`](Self::conv2d_backward).
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
