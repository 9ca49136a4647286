//! Normalisation over the batch, in training and in inference.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::{HostDeviceError, Op};
use candle_core::{Error as CandleError, Result as CandleResult, Tensor};
use candle_nn::{BatchNorm, ModuleT};

/// Normalises `input`, `[N, C, ..]`, by the mean and variance of each channel in the batch, with `eps` added to the variance; then multiplies by
/// `weight` and adds `bias`.
///
/// `running` are the mean and variance in `f32`, both `Var`s, as [`split_buffers`](crate::split_buffers) returns them. They are updated with the
/// batch's mean and unbiased variance, whose weight is `momentum`.
///
/// # Errors
///
/// See the [module](super). `InvalidArgument` if a channel has fewer than two values, or one of `running` is no `Var`.
pub fn batch_norm(
    scope: &Scope<'_, Candle>,
    path: &str,
    operands: [&Tensor; 3],
    running: [&Tensor; 2],
    momentum: f64,
    eps: f64,
) -> Result<Tensor, Error> {
    let others = operands[0].dims().iter().enumerate().filter(|(axis, _)| *axis != 1);
    let values = others.map(|(_, len)| len).product::<usize>();
    if values < 2 {
        let (what, expected) = ("values of a channel in batch_norm", "at least 2");
        let value = if values == 0 { 0.0 } else { 1.0 };
        return Err(HostDeviceError::Invalid { what, value, expected }.into());
    }
    for (name, statistic) in ["running_mean", "running_var"].into_iter().zip(running) {
        if !statistic.is_variable() {
            return Err(Error::NotVar { name: name.into() });
        }
    }
    normalised(scope, path, operands, running, (momentum, eps), true)
}

/// Normalises `input`, `[N, C, ..]`, by the `running` mean and variance of each channel; then multiplies by `weight` and adds `bias`.
///
/// candle's own layer takes no sixteen-bit input in inference.
///
/// # Errors
///
/// See the [module](super).
pub fn batch_norm_inference(
    scope: &Scope<'_, Candle>,
    path: &str,
    operands: [&Tensor; 3],
    running: [&Tensor; 2],
    eps: f64,
) -> Result<Tensor, Error> {
    normalised(scope, path, operands, running, (0.0, eps), false)
}

/// Normalises widened operands by candle's own layer.
fn normalised(
    scope: &Scope<'_, Candle>,
    path: &str,
    operands: [&Tensor; 3],
    [mean, var]: [&Tensor; 2],
    (momentum, eps): (f64, f64),
    train: bool,
) -> Result<Tensor, Error> {
    narrowed(scope, Op::BATCH_NORM, path, operands, |[x, weight, bias]| {
        let channels = fits([&x, &weight, &bias], [mean, var])?;
        let (mean, var) = (mean.clone(), var.clone());
        BatchNorm::new_with_momentum(channels, mean, var, weight, bias, eps, momentum)?
            .forward_t(&x, train)
    })
}

/// Refuses operands that do not fit, before a running statistic is set: candle's own error has no kind.
fn fits([x, weight, bias]: [&Tensor; 3], running: [&Tensor; 2]) -> CandleResult<usize> {
    let (channels, op) = (x.dim(1)?, Op::BATCH_NORM.name());
    for tensor in [weight, bias].into_iter().chain(running) {
        if tensor.dims() != [channels] {
            let (lhs, rhs) = (x.shape().clone(), tensor.shape().clone());
            return Err(CandleError::ShapeMismatchBinaryOp { lhs, rhs, op });
        }
    }
    match running.map(Tensor::dtype).into_iter().find(|dtype| *dtype != x.dtype()) {
        Some(rhs) => Err(CandleError::DTypeMismatchBinaryOp { lhs: x.dtype(), rhs, op }),
        None => Ok(channels),
    }
}
