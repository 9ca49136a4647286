//! Shapes of operations with windows that move over images.

#![expect(clippy::many_single_char_names, reason = "axes go by the letters the field gives them")]

use super::bounded;
use crate::Op;
use crate::ops::{AvgPool2dConfig, Conv2dConfig, ImageLayout, MaxPool2dConfig, ShapeError};
use std::ops::Range;

/// Returns the number of windows along an axis: `(extent + 2·padding − window) / stride + 1`, rounded down.
fn positions(extent: usize, window: usize, stride: usize, padding: usize) -> Option<usize> {
    let padded = padding.checked_mul(2)?.checked_add(extent)?;
    (padded.checked_sub(window)? / stride).checked_add(1)
}

/// Returns the shape of a convolution: `[N, C, H, W]` with weight `[O, C / groups, KH, KW]` and bias `[O]` gives `[N, O, H', W']`, images
/// and result in the order of the configuration's layout.
///
/// # Errors
///
/// `Mismatch` if the operands do not fit; `InvalidArgument` for a stride, a dilation or groups of 0, and for a result larger than
/// any memory.
pub(crate) fn conv2d(
    input: &[usize],
    weight: &[usize],
    bias: Option<&[usize]>,
    config: Conv2dConfig,
) -> Result<Vec<usize>, ShapeError> {
    let found = [&[input, weight][..], bias.as_slice()].concat();
    let Conv2dConfig { stride, dilation, groups, layout, .. } = config;
    for (what, values) in [("stride", &stride[..]), ("dilation", &dilation), ("groups", &[groups])]
    {
        if values.contains(&0) {
            let argument = format!("{what} {values:?}");
            return Err(ShapeError::argument(Op::CONV2D, argument, &found, "at least 1"));
        }
    }
    let shape = conv2d_extents(input, weight, bias, config).ok_or_else(|| {
        let expected = match layout {
            ImageLayout::ChannelsFirst => {
                "input [N, C, H, W], weight [O, C / groups, KH, KW] of O divisible by groups, with KH and KW at least 1 and, dilated, at \
                 most H and W with padding on both sides, bias [O]"
            }
            ImageLayout::ChannelsLast => {
                "input [N, H, W, C], weight [O, C / groups, KH, KW] of O divisible by groups, with KH and KW at least 1 and, dilated, at \
                 most H and W with padding on both sides, bias [O]"
            }
        };
        ShapeError::mismatch(Op::CONV2D, &found, expected)
    })?;
    bounded(Op::CONV2D, shape)
}

fn conv2d_extents(
    input: &[usize],
    weight: &[usize],
    bias: Option<&[usize]>,
    Conv2dConfig { stride, padding, dilation, groups, layout }: Conv2dConfig,
) -> Option<Vec<usize>> {
    let &[o, c2, kh, kw] = weight else { return None };
    let [n, c, h, w] = layout.extents(input)?;
    let is_grouped = c2.checked_mul(groups) == Some(c) && o.is_multiple_of(groups);
    // A tensor without channels has one group: any number divides 0, and no device goes through so many.
    if !is_grouped || groups > c.max(1) || bias.is_some_and(|bias| bias != [o]) {
        return None;
    }
    let [kh, kw] = [dilated(kh, dilation[0])?, dilated(kw, dilation[1])?];
    let rows = positions(h, kh, stride[0], padding[0])?;
    let columns = positions(w, kw, stride[1], padding[1])?;
    Some(layout.shape([n, o, rows, columns]).into())
}

/// Returns the extent of a kernel whose elements lie `dilation` apart; `None` for no elements.
fn dilated(kernel: usize, dilation: usize) -> Option<usize> {
    kernel.checked_sub(1)?.checked_mul(dilation)?.checked_add(1)
}

/// Returns the shape of a max pooling: `[N, C, H, W]` gives `[N, C, H', W']`, in the order of the configuration's layout.
///
/// # Errors
///
/// The errors of [`pool2d`].
pub(crate) fn max_pool2d(
    input: &[usize],
    config: MaxPool2dConfig,
) -> Result<Vec<usize>, ShapeError> {
    let MaxPool2dConfig { kernel, stride, padding, layout } = config;
    pool2d(Op::MAX_POOL2D, input, [kernel, stride, padding], layout)
}

/// Returns the shape of an average pooling: `[N, C, H, W]` gives `[N, C, H', W']`, in the order of the configuration's layout.
///
/// # Errors
///
/// The errors of [`pool2d`], and `InvalidArgument` for a window of more elements than a `usize` counts.
pub(crate) fn avg_pool2d(
    input: &[usize],
    config: AvgPool2dConfig,
) -> Result<Vec<usize>, ShapeError> {
    let AvgPool2dConfig { kernel, stride, padding, layout, .. } = config;
    if kernel[0].checked_mul(kernel[1]).is_none() {
        let argument = format!("kernel {kernel:?}");
        let expected = "fewer elements than a `usize` counts";
        return Err(ShapeError::argument(Op::AVG_POOL2D, argument, &[input], expected));
    }
    pool2d(Op::AVG_POOL2D, input, [kernel, stride, padding], layout)
}

/// Returns the shape of an adaptive average pooling: `[N, C, H, W]` gives `[N, C, H', W']` of `output`.
///
/// # Errors
///
/// `Mismatch` for anything but images with elements in their planes; `InvalidArgument` for an output of 0 rows or columns, and for
/// a result larger than any memory.
pub(crate) fn adaptive_avg_pool2d(
    input: &[usize],
    output: [usize; 2],
) -> Result<Vec<usize>, ShapeError> {
    let op = Op::ADAPTIVE_AVG_POOL2D;
    if output.contains(&0) {
        let argument = format!("output {output:?}");
        return Err(ShapeError::argument(op, argument, &[input], "at least 1 row and 1 column"));
    }
    match *input {
        [n, c, h, w] if h > 0 && w > 0 => bounded(op, vec![n, c, output[0], output[1]]),
        _ => Err(ShapeError::mismatch(op, &[input], "[N, C, H, W] with H and W at least 1")),
    }
}

/// Returns the shape of a pooling of images by windows of this kernel, stride and padding.
///
/// # Errors
///
/// `Mismatch` if the window does not fit; `InvalidArgument` for a window or stride of 0, too much padding,
/// or a result larger than any memory.
fn pool2d(
    op: Op,
    input: &[usize],
    [kernel, stride, padding]: [[usize; 2]; 3],
    layout: ImageLayout,
) -> Result<Vec<usize>, ShapeError> {
    let too_padded = padding[0] > kernel[0] / 2 || padding[1] > kernel[1] / 2;
    if kernel.contains(&0) || stride.contains(&0) || too_padded {
        let argument = format!("kernel {kernel:?}, stride {stride:?}, padding {padding:?}");
        let expected = "kernel and stride at least 1, padding at most half the kernel";
        return Err(ShapeError::argument(op, argument, &[input], expected));
    }
    let shape = pool2d_extents(input, [kernel, stride, padding], layout).ok_or_else(|| {
        let expected = match layout {
            ImageLayout::ChannelsFirst => {
                "[N, C, H, W] with H and W at least 1 and, padded, at least the kernel's"
            }
            ImageLayout::ChannelsLast => {
                "[N, H, W, C] with H and W at least 1 and, padded, at least the kernel's"
            }
        };
        ShapeError::mismatch(op, &[input, &kernel], expected)
    })?;
    bounded(op, shape)
}

fn pool2d_extents(
    input: &[usize],
    [kernel, stride, padding]: [[usize; 2]; 3],
    layout: ImageLayout,
) -> Option<Vec<usize>> {
    let [n, c, h, w] = layout.extents(input)?;
    if h == 0 || w == 0 {
        return None;
    }
    let rows = positions(h, kernel[0], stride[0], padding[0])?;
    let columns = positions(w, kernel[1], stride[1], padding[1])?;
    Some(layout.shape([n, c, rows, columns]).into())
}

/// Windows of a pooling along one axis of an image.
///
/// With a step of `n / d`, window `i` begins at `⌊i·n / d⌋ − padding` and ends before `⌈(i·n + length) / d⌉ − padding`. Elements of
/// the padding belong to no image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Windows {
    /// Elements of the image.
    pub image: usize,
    /// Number of windows.
    pub count: usize,
    /// Numerator and denominator of the distance between neighbouring windows.
    pub step: [usize; 2],
    /// Length of a window, times the denominator.
    pub length: usize,
    /// Elements of the padding before the image.
    pub padding: usize,
}

impl Windows {
    /// Describes `count` windows of `kernel` elements, `stride` elements apart.
    pub const fn sliding(
        [image, count]: [usize; 2],
        kernel: usize,
        stride: usize,
        padding: usize,
    ) -> Self {
        Self { image, count, step: [stride, 1], length: kernel, padding }
    }

    /// Describes `count` windows that cover the image evenly: window `i` has the elements `⌊i·image / count⌋` to `⌈(i + 1)·image / count⌉`, so
    /// neighbours share an element if the image is not divisible.
    pub const fn adaptive([image, count]: [usize; 2]) -> Self {
        Self { image, count, step: [image, count], length: image, padding: 0 }
    }

    /// Returns the part of the image that window `i` covers. It is never empty: padding is at most half a window.
    ///
    /// # Examples
    ///
    /// ```
    /// use binade_core::ops::shape::Windows;
    ///
    /// let halves = Windows::adaptive([5, 2]);
    /// assert_eq!([halves.span(0), halves.span(1)], [0..3, 2..5]);
    /// let padded = Windows::sliding([5, 3], 3, 2, 1);
    /// assert_eq!([0, 1, 2].map(|i| padded.span(i)), [0..2, 1..4, 3..5]);
    /// ```
    pub const fn span(&self, i: usize) -> Range<usize> {
        let (first, by) = (i * self.step[0], self.step[1]);
        let end = (first + self.length).div_ceil(by) - self.padding;
        let end = if end < self.image { end } else { self.image };
        (first / by).saturating_sub(self.padding)..end
    }
}

/// Windows of an average pooling along both axes of an image.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pooling {
    /// Windows along rows and columns.
    pub windows: [Windows; 2],
    /// Number that each window's sum is divided by; `None` for the number of its elements in the image.
    pub divisor: Option<usize>,
    /// Elements from one pixel of a channel to the next: 1, or the number of channels if they are last.
    pub pixel: usize,
}

impl Pooling {
    /// Describes the windows of [`AvgPool2d`](crate::ops::AvgPool2d) of images and results in the configuration's layout.
    pub fn sliding(image: &[usize], result: &[usize], config: AvgPool2dConfig) -> Self {
        let AvgPool2dConfig { kernel, stride, padding, count_include_pad, layout } = config;
        let [image, result] = [image, result].map(|it| layout.extents(it).unwrap_or_default());
        let windows = [0, 1].map(|axis| {
            let extents = [image[axis + 2], result[axis + 2]];
            Windows::sliding(extents, kernel[axis], stride[axis], padding[axis])
        });
        let divisor = count_include_pad.then_some(kernel[0] * kernel[1]);
        Self { windows, divisor, pixel: layout.pixel_stride(image) }
    }

    /// Describes the windows of [`AdaptiveAvgPool2d`](crate::ops::AdaptiveAvgPool2d) of images and results `[N, C, H, W]`.
    pub fn adaptive(image: &[usize], result: &[usize]) -> Self {
        let windows = [2, 3].map(|axis| Windows::adaptive([image[axis], result[axis]]));
        Self { windows, divisor: None, pixel: 1 }
    }
}
