//! Shapes of operations with windows that move over images.

#![expect(clippy::many_single_char_names, reason = "axes go by the letters the field gives them")]

use super::bounded;
use crate::Op;
use crate::ops::{Conv2dConfig, MaxPool2dConfig, ShapeError};

/// Returns the number of windows along an axis: `(extent + 2·padding − window) / stride + 1`, rounded down.
fn positions(extent: usize, window: usize, stride: usize, padding: usize) -> Option<usize> {
    let padded = padding.checked_mul(2)?.checked_add(extent)?;
    (padded.checked_sub(window)? / stride).checked_add(1)
}

/// Returns the shape of a convolution: `[N, C, H, W]` with weight `[O, C, KH, KW]` and bias `[O]` gives `[N, O, H', W']`.
///
/// # Errors
///
/// `Mismatch` if the operands do not fit; `InvalidArgument` for a stride of 0, and for a result larger than
/// any memory.
pub(crate) fn conv2d(
    input: &[usize],
    weight: &[usize],
    bias: Option<&[usize]>,
    config: Conv2dConfig,
) -> Result<Vec<usize>, ShapeError> {
    let found = [&[input, weight][..], bias.as_slice()].concat();
    if config.stride.contains(&0) {
        let argument = format!("stride {:?}", config.stride);
        return Err(ShapeError::argument(Op::CONV2D, argument, &found, "at least 1"));
    }
    let shape = conv2d_extents(input, weight, bias, config).ok_or_else(|| {
        ShapeError::mismatch(
            Op::CONV2D,
            &found,
            "input [N, C, H, W], weight [O, C, KH, KW] with 1 ≤ KH ≤ H + 2·padding and 1 ≤ KW ≤ W + 2·padding, bias [O]",
        )
    })?;
    bounded(Op::CONV2D, shape)
}

fn conv2d_extents(
    input: &[usize],
    weight: &[usize],
    bias: Option<&[usize]>,
    Conv2dConfig { stride, padding }: Conv2dConfig,
) -> Option<Vec<usize>> {
    let (&[n, c, h, w], &[o, c2, kh, kw]) = (input, weight) else { return None };
    if c != c2 || kh == 0 || kw == 0 || bias.is_some_and(|bias| bias != [o]) {
        return None;
    }
    let rows = positions(h, kh, stride[0], padding[0])?;
    let columns = positions(w, kw, stride[1], padding[1])?;
    Some(vec![n, o, rows, columns])
}

/// Returns the shape of a max pooling: `[N, C, H, W]` gives `[N, C, H', W']`.
///
/// # Errors
///
/// `Mismatch` if the window does not fit; `InvalidArgument` for a window or stride of 0, too much padding,
/// or a result larger than any memory.
pub(crate) fn max_pool2d(
    input: &[usize],
    config: MaxPool2dConfig,
) -> Result<Vec<usize>, ShapeError> {
    let MaxPool2dConfig { kernel, stride, padding } = config;
    let too_padded = padding[0] > kernel[0] / 2 || padding[1] > kernel[1] / 2;
    if kernel.contains(&0) || stride.contains(&0) || too_padded {
        let argument = format!("kernel {kernel:?}, stride {stride:?}, padding {padding:?}");
        let expected = "kernel and stride at least 1, padding at most half the kernel";
        return Err(ShapeError::argument(Op::MAX_POOL2D, argument, &[input], expected));
    }
    let shape = max_pool2d_extents(input, config).ok_or_else(|| {
        let expected = "[N, C, H, W] with H and W at least 1 and, padded, at least the kernel's";
        ShapeError::mismatch(Op::MAX_POOL2D, &[input, &kernel], expected)
    })?;
    bounded(Op::MAX_POOL2D, shape)
}

fn max_pool2d_extents(input: &[usize], config: MaxPool2dConfig) -> Option<Vec<usize>> {
    let MaxPool2dConfig { kernel, stride, padding } = config;
    let &[n, c, h, w] = input else { return None };
    if h == 0 || w == 0 {
        return None;
    }
    let rows = positions(h, kernel[0], stride[0], padding[0])?;
    let columns = positions(w, kernel[1], stride[1], padding[1])?;
    Some(vec![n, c, rows, columns])
}
