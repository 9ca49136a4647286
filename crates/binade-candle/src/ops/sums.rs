//! Sums and means.

use super::wide::wide;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::Tensor;

/// Returns the sum of all elements, a scalar.
///
/// # Errors
///
/// See the [module](super).
pub fn sum(scope: &Scope<'_, Candle>, path: &str, input: &Tensor) -> Result<Tensor, Error> {
    wide(scope, Op::SUM, path, [input], |[x]| x.sum_all())
}

/// Returns the mean of all elements, a scalar.
///
/// # Errors
///
/// See the [module](super).
pub fn mean(scope: &Scope<'_, Candle>, path: &str, input: &Tensor) -> Result<Tensor, Error> {
    wide(scope, Op::MEAN, path, [input], |[x]| x.mean_all())
}
