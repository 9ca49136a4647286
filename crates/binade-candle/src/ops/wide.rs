//! Casts that all operations share: operands are cast by the policy, then widened.

use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_cast_policy::OpCall;
use binade_core::{Op, OpClass};
use candle_core::{DType, Error as CandleError, Result as CandleResult, Tensor};
use std::borrow::Cow;

/// Computes in `f32` or wider on operands that were cast as the policy says.
pub(super) fn wide<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let cast = scope.cast(op, path, operands)?.map(Cow::into_owned);
    Ok(compute(widened(op, cast)?)?)
}

/// Computes as `wide` and rounds to the type that the operands were cast to.
pub(super) fn narrowed<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    narrowed_call(scope, &OpCall { path, ..op.into() }, operands, compute)
}

/// Computes as [`narrowed`], for a call that states sizes.
pub(super) fn narrowed_call<const N: usize>(
    scope: &Scope<'_, Candle>,
    call: &OpCall<'_>,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let cast = scope.cast_all(call, &operands)?;
    let cast: [Tensor; N] = std::array::from_fn(|place| Tensor::clone(&cast[place]));
    let dtype = cast.first().map_or(DType::F32, Tensor::dtype);
    Ok(compute(widened(call.op, cast)?)?.to_dtype(dtype)?)
}

/// Widens operands to `f32`, or to `f64` if the first is of that type. As in candle, operands must be floating-point and all of one type. As an
/// exception, the parameters of a normalisation may be `f32` beside an input of another type.
fn widened<const N: usize>(op: Op, mut operands: [Tensor; N]) -> CandleResult<[Tensor; N]> {
    let lhs = operands.first().map_or(DType::F32, Tensor::dtype);
    let wanted = operands.last().map_or(lhs, Tensor::dtype);
    let fits = wanted == lhs || op.class() == OpClass::Norm && wanted == DType::F32;
    let stray = operands.iter().skip(1).map(Tensor::dtype).find(|rhs| !fits || *rhs != wanted);
    if let Some(rhs) = stray.or(Some(lhs).filter(|lhs| !lhs.is_float())) {
        return Err(CandleError::DTypeMismatchBinaryOp { lhs, rhs, op: op.name() });
    }
    let dtype = if lhs == DType::F64 { lhs } else { DType::F32 };
    for tensor in &mut operands {
        *tensor = tensor.to_dtype(dtype)?;
    }
    Ok(operands)
}
