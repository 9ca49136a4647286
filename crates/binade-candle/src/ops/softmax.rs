//! Softmax and its logarithm, along any axis.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::shape::Dim;
use candle_core::{Result as CandleResult, Tensor};

/// Exponentials along `dim`, normalised to sum 1.
///
/// # Errors
///
/// See the [module](super).
pub fn softmax(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    dim: impl Dim,
) -> Result<Tensor, Error> {
    along(scope, Op::SOFTMAX, path, input, |x| candle_nn::ops::softmax(x, dim))
}

/// The logarithm of [`softmax`].
///
/// # Errors
///
/// See the [module](super).
pub fn log_softmax(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    dim: impl Dim,
) -> Result<Tensor, Error> {
    along(scope, Op::LOG_SOFTMAX, path, input, |x| candle_nn::ops::log_softmax(x, dim))
}

/// What candle does along an axis, where there is anything: it has no largest element of nothing.
fn along(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    input: &Tensor,
    compute: impl FnOnce(&Tensor) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let whole = |x: &Tensor| if x.elem_count() == 0 { Ok(x.clone()) } else { compute(x) };
    narrowed(scope, op, path, [input], |[x]| whole(&x))
}
