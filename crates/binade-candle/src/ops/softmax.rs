//! Softmax and its logarithm, along any axis.

use super::wide::narrowed_call;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_cast_policy::OpCall;
use binade_core::Op;
use candle_core::shape::Dim;
use candle_core::{Result as CandleResult, Tensor};

/// Returns exponentials along `dim`, normalised to sum 1.
///
/// # Errors
///
/// See the [module](super).
#[expect(clippy::needless_pass_by_value, reason = "candle's own function takes it so")]
pub fn softmax(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    dim: impl Dim,
) -> Result<Tensor, Error> {
    let axis = dim.to_index(input.shape(), "softmax")?;
    along(scope, Op::SOFTMAX, path, (input, axis), |x| candle_nn::ops::softmax(x, axis))
}

/// Returns the logarithm of [`softmax`].
///
/// # Errors
///
/// See the [module](super).
#[expect(clippy::needless_pass_by_value, reason = "candle's own function takes it so")]
pub fn log_softmax(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    dim: impl Dim,
) -> Result<Tensor, Error> {
    let axis = dim.to_index(input.shape(), "log_softmax")?;
    along(scope, Op::LOG_SOFTMAX, path, (input, axis), |x| candle_nn::ops::log_softmax(x, axis))
}

/// Runs `compute` along an axis, unless the tensor is empty: candle finds no maximum of an empty tensor.
fn along(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    (input, axis): (&Tensor, usize),
    compute: impl FnOnce(&Tensor) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let whole = |x: &Tensor| if x.elem_count() == 0 { Ok(x.clone()) } else { compute(x) };
    let call = OpCall { path, reduction: Some(input.dim(axis)? as u64), ..op.into() };
    narrowed_call(scope, &call, [input], |[x]| whole(&x))
}
