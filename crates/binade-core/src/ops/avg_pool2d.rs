//! Mean of each window.

use crate::Handle;
use crate::ops::ImageLayout;

/// Window of an average pooling, with its stride, its padding and the layout of images.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct AvgPool2dConfig {
    /// Rows and columns of the window; at least 1.
    pub kernel: [usize; 2],
    /// Rows and columns between neighbouring windows; at least 1.
    pub stride: [usize; 2],
    /// Rows and columns of zeros added on either side; at most half the window.
    pub padding: [usize; 2],
    /// True if a window's sum is divided by all elements of the window; false if those in the padding do not count.
    pub count_include_pad: bool,
    /// Order of the axes of the images and of the result.
    pub layout: ImageLayout,
}

impl AvgPool2dConfig {
    /// Returns square windows side by side, without padding, channels first.
    pub const fn square(side: usize) -> Self {
        let (kernel, layout) = ([side, side], ImageLayout::ChannelsFirst);
        Self { kernel, stride: kernel, padding: [0, 0], count_include_pad: true, layout }
    }
}

/// Average pooling: the mean of each window of images, `[N, C, H, W]` unless the layout says otherwise.
///
/// # For implementers
///
/// * The result is `[N, C, H', W']` with `H' = (H + 2·padding − KH) / stride + 1`, rounded down; `W'` alike. With the channels last,
///   images and result are `[N, H, W, C]` and `[N, H', W', C]`, with the same elements.
/// * A window's elements are added up in f32 whatever the storage, and divided by `KH·KW`, or by the number of those in the image if
///   padding does not count. The quotient is narrowed once, to nearest even.
/// * Backward divides each window's gradient by the same number, in f32; an element's gradient is the f32 sum over the windows that
///   it lies in, narrowed once.
pub trait AvgPool2d: Handle {
    /// Returns the means.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `input` has not the layout's four axes or is smaller than the window; `InvalidArgument` for a window or
    /// stride of 0, or padding of more than half the window.
    fn avg_pool2d(
        &self,
        input: &Self::Tensor,
        config: AvgPool2dConfig,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of the input, which has this shape.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape of the result.
    fn avg_pool2d_backward(
        &self,
        grad: &Self::Tensor,
        shape: &[usize],
        config: AvgPool2dConfig,
    ) -> Result<Self::Tensor, Self::Error>;
}
