//! Normalisations of each sample by itself.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::{D, Result as CandleResult, Tensor};
use candle_nn::{GroupNorm, Module};

/// Normalises the last axis to mean 0 and variance 1, with `eps` added to the variance; then multiplies by `weight` and adds `bias`.
///
/// # Errors
///
/// See the [module](super).
pub fn layer_norm(
    scope: &Scope<'_, Candle>,
    path: &str,
    [input, weight, bias]: [&Tensor; 3],
    eps: f64,
) -> Result<Tensor, Error> {
    narrowed(scope, Op::LAYER_NORM, path, [input, weight, bias], |[x, weight, bias]| {
        let x = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
        unit(&x, eps)?.broadcast_mul(&weight)?.broadcast_add(&bias)
    })
}

/// Divides by the root mean square over the last axis, with `eps` added to the mean square; then multiplies by `weight`.
///
/// # Errors
///
/// See the [module](super).
pub fn rms_norm(
    scope: &Scope<'_, Candle>,
    path: &str,
    [input, weight]: [&Tensor; 2],
    eps: f64,
) -> Result<Tensor, Error> {
    narrowed(scope, Op::RMS_NORM, path, [input, weight], |[x, weight]| {
        unit(&x, eps)?.broadcast_mul(&weight)
    })
}

/// Normalises `input`, `[N, C, ..]`, to mean 0 and variance 1 in each of `groups` groups of channels, with `eps` added to the variance; then
/// multiplies by `weight` and adds `bias`, both by channel.
///
/// # Errors
///
/// See the [module](super).
pub fn group_norm(
    scope: &Scope<'_, Candle>,
    path: &str,
    [input, weight, bias]: [&Tensor; 3],
    groups: usize,
    eps: f64,
) -> Result<Tensor, Error> {
    narrowed(scope, Op::GROUP_NORM, path, [input, weight, bias], |[x, weight, bias]| {
        GroupNorm::new(weight, bias, x.dim(1)?, groups, eps)?.forward(&x)
    })
}

/// Returns `x` divided by its root mean square along the last axis, with `eps` added to the mean square.
fn unit(x: &Tensor, eps: f64) -> CandleResult<Tensor> {
    x.broadcast_div(&(x.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?)
}
