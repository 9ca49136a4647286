//! Largest element of each window.

use crate::Handle;
use crate::ops::ImageLayout;

/// Window of a pooling, with its stride, its padding and the layout of images.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct MaxPool2dConfig {
    /// Rows and columns of the window; at least 1.
    pub kernel: [usize; 2],
    /// Rows and columns between neighbouring windows; at least 1.
    pub stride: [usize; 2],
    /// Rows and columns added on either side, which are never the largest; at most half the window.
    pub padding: [usize; 2],
    /// Order of the axes of the images and of the result.
    pub layout: ImageLayout,
}

impl MaxPool2dConfig {
    /// Returns square windows side by side, without padding, channels first.
    pub const fn square(side: usize) -> Self {
        let (kernel, layout) = ([side, side], ImageLayout::ChannelsFirst);
        Self { kernel, stride: kernel, padding: [0, 0], layout }
    }
}

/// Max pooling: the largest element of each window of images, `[N, C, H, W]` unless the layout says otherwise.
///
/// # For implementers
///
/// * The result is `[N, C, H', W']` with `H' = (H + 2·padding − KH) / stride + 1`, rounded down; `W'` alike. With the channels last,
///   images and result are `[N, H, W, C]` and `[N, H', W', C]`, with the same elements.
/// * A NaN is larger than everything: it is the result of each window that holds one.
/// * Backward gives each window's gradient to its first largest element in row-major order (the first NaN, where there
///   is one); where windows overlap, gradients add up in f32 and are narrowed once.
pub trait MaxPool2d: Handle {
    /// Returns the largest elements, bit for bit.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `input` has not the layout's four axes or is smaller than the window; `InvalidArgument` for a window or
    /// stride of 0, or padding of more than half the window.
    fn max_pool2d(
        &self,
        input: &Self::Tensor,
        config: MaxPool2dConfig,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape and element type of the result.
    fn max_pool2d_backward(
        &self,
        grad: &Self::Tensor,
        input: &Self::Tensor,
        config: MaxPool2dConfig,
    ) -> Result<Self::Tensor, Self::Error>;
}
