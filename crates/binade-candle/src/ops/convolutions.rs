//! Convolutions along one axis and along two: on the CPU in `f32`, rounded once.

use super::products::{plus, product};
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::{HostDeviceError, HostTypeError, Op, OpClass};
use candle_core::{Error as CandleError, Result as CandleResult, Tensor};
use candle_nn::{Conv1dConfig, Conv2dConfig};

/// Convolution along one axis. Binade's list of operations lacks it; policies know it as `conv1d`.
const CONV1D: Op = Op::custom("conv1d", OpClass::Conv);

/// Returns the cross-correlation of rows `[N, C, L]` with kernels `[O, C / groups, K]`, plus bias `[O]`.
///
/// It is computed as [`conv2d`] of images of height 1.
///
/// # Errors
///
/// The errors of [`conv2d`].
pub fn conv1d(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    config: Conv1dConfig,
) -> Result<Tensor, Error> {
    let Conv1dConfig { padding, stride, dilation, groups, cudnn_fwd_algo } = config;
    // A two-dimensional padding would pad the height too.
    let image = input.pad_with_zeros(2, padding, padding)?.unsqueeze(2)?;
    let config = Conv2dConfig { padding: 0, stride, dilation, groups, cudnn_fwd_algo };
    let result = convolution(scope, CONV1D, path, [&image, &weight.unsqueeze(2)?], bias, config)?;
    Ok(result.squeeze(2)?)
}

/// Returns the cross-correlation of images `[N, C, H, W]` with kernels `[O, C / groups, KH, KW]`, plus bias `[O]`.
///
/// candle's own backward fails unless windows leave as many rows as columns uncovered. Here the image is first cut to the part that windows cover.
///
/// # Errors
///
/// See the [module](super). `InvalidArgument` if stride, dilation or groups are 0, and `Mismatch` if shapes do not fit, or the
/// kernel is larger than the padded image.
pub fn conv2d(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    config: Conv2dConfig,
) -> Result<Tensor, Error> {
    convolution(scope, Op::CONV2D, path, [input, weight], bias, config)
}

/// Computes [`conv2d`] as the operation `op`, by which policies know it.
fn convolution(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    [input, weight]: [&Tensor; 2],
    bias: Option<&Tensor>,
    config: Conv2dConfig,
) -> Result<Tensor, Error> {
    above_zero(config)?;
    let fit = Fit::new([input, weight], bias, config)?;
    let Some(bias) = bias else {
        return product(scope, op, path, [input, weight], |[x, w]| fit.convolve(&x, &w));
    };
    product(scope, op, path, [input, weight, bias], |[x, w, b]| {
        plus(&fit.convolve(&x, &w)?, &b.reshape((1, (), 1, 1))?)
    })
}

/// Refuses zeros in a configuration: candle divides by these numbers, or by numbers derived from them.
fn above_zero(config: Conv2dConfig) -> Result<(), HostDeviceError<HostTypeError>> {
    let Conv2dConfig { stride, dilation, groups, .. } = config;
    let named = [
        ("the convolution's stride", stride),
        ("the convolution's dilation", dilation),
        ("the convolution's groups", groups),
    ];
    match named.into_iter().find(|(_, value)| *value == 0) {
        Some((what, _)) => {
            Err(HostDeviceError::Invalid { what, value: 0.0, expected: "a whole number above 0" })
        }
        None => Ok(()),
    }
}

/// Windows along one axis: their number, and the extent of the padded image that they cover.
#[derive(Clone, Copy)]
struct Windows {
    count: usize,
    reach: usize,
    padded: usize,
}

impl Windows {
    /// Returns the windows; `None` if a window is larger than the padded image, or is empty.
    fn new(image: usize, kernel: usize, config: Conv2dConfig) -> Option<Self> {
        let span = config.dilation * kernel.checked_sub(1)? + 1;
        let padded = image + 2 * config.padding;
        let steps = padded.checked_sub(span)? / config.stride;
        Some(Self { count: steps + 1, reach: steps * config.stride + span, padded })
    }

    const fn reach_all(self) -> bool {
        self.reach == self.padded
    }
}

/// Result's shape and windows of operands that fit each other.
struct Fit {
    output: (usize, usize, usize, usize),
    rows: Windows,
    columns: Windows,
    config: Conv2dConfig,
}

impl Fit {
    fn new(
        [input, weight]: [&Tensor; 2],
        bias: Option<&Tensor>,
        config: Conv2dConfig,
    ) -> CandleResult<Self> {
        let (images, channels, height, width) = input.dims4()?;
        let (kernels, depth, rows, columns) = weight.dims4()?;
        let refuse = |rhs: &Tensor| CandleError::ShapeMismatchBinaryOp {
            lhs: input.shape().clone(),
            rhs: rhs.shape().clone(),
            op: "conv2d",
        };
        if depth * config.groups != channels || kernels % config.groups != 0 {
            return Err(refuse(weight));
        }
        if let Some(bias) = bias.filter(|bias| bias.dims() != [kernels]) {
            return Err(refuse(bias));
        }
        let rows = Windows::new(height, rows, config).ok_or_else(|| refuse(weight))?;
        let columns = Windows::new(width, columns, config).ok_or_else(|| refuse(weight))?;
        Ok(Self { output: (images, kernels, rows.count, columns.count), rows, columns, config })
    }

    /// Computes candle's convolution on an image without elements outside of windows, for which candle's backward is right.
    fn convolve(&self, x: &Tensor, weight: &Tensor) -> CandleResult<Tensor> {
        if x.elem_count() == 0 || weight.elem_count() == 0 {
            return Tensor::zeros(self.output, x.dtype(), x.device());
        }
        let Conv2dConfig { padding, stride, dilation, groups, cudnn_fwd_algo } = self.config;
        if self.rows.reach_all() && self.columns.reach_all() {
            return x.conv2d_with_algo(weight, padding, stride, dilation, groups, cudnn_fwd_algo);
        }
        self.cut(x)?.conv2d_with_algo(weight, 0, stride, dilation, groups, cudnn_fwd_algo)
    }

    /// Cuts the padded image to the part that windows cover.
    fn cut(&self, x: &Tensor) -> CandleResult<Tensor> {
        let padding = self.config.padding;
        let padded = x.pad_with_zeros(2, padding, padding)?.pad_with_zeros(3, padding, padding)?;
        let rows = padded.narrow(2, 0, self.rows.reach)?;
        rows.narrow(3, 0, self.columns.reach)?.contiguous()
    }
}
