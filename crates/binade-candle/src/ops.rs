//! candle's operations in an open region: cast as its policy says, accumulated in `f32`, and never cutting the graph.
//!
//! candle's own compute in the type that they are given: a sum of ones in `f16` stops at 2048, and one in `bf16` at 256. Its
//! fused `LayerNorm` with a bias, `RmsNorm` and `softmax_last_dim` have no backward, and leave everything above them without a
//! gradient. These are slower, and whole.
//!
//! * Operands are cast as the region's policy says for the operation, at `path` in the model. If their types still differ, that is
//!   an error.
//! * All compute in `f32`, or in `f64` where the operands are, whatever the operands' type. Products do so on the CPU, where
//!   candle's own in `f16` round sums in between and are slower; on another device they are candle's own.
//! * Products, normalisations and softmax give the type that their operands have after the cast, rounded once; sums, means and
//!   losses stay as they were computed.
//! * The errors are the policy's, where it refuses the operation, and candle's.

use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::{Op, OpClass};
use candle_core::shape::Dim;
use candle_core::{D, DType, Error as CandleError, Module, Result as CandleResult, Tensor};
use candle_nn::Linear;
use std::borrow::Cow;

/// Root mean square normalisation, which Binade's own list does not name: policies know it as `rms_norm`.
pub const RMS_NORM: Op = Op::custom("rms_norm", OpClass::Norm);

/// The product of two matrices, or of two equal batches of them.
///
/// # Errors
///
/// See the [module](self).
pub fn matmul(
    scope: &Scope<'_, Candle>,
    path: &str,
    a: &Tensor,
    b: &Tensor,
) -> Result<Tensor, Error> {
    let op = if a.rank() > 2 { Op::BMM } else { Op::MATMUL };
    product(scope, op, path, [a, b], |[a, b]| a.matmul(&b))
}

/// A linear layer: `input` by the transpose of `weight`, plus `bias`.
///
/// # Errors
///
/// See the [module](self).
pub fn linear(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, Error> {
    let Some(bias) = bias else {
        return product(scope, Op::LINEAR, path, [input, weight], |[x, w]| affine(&x, w, None));
    };
    let operands = [input, weight, bias];
    product(scope, Op::LINEAR, path, operands, |[x, w, b]| affine(&x, w, Some(b)))
}

/// candle's layer, for one row too.
fn affine(x: &Tensor, weight: Tensor, bias: Option<Tensor>) -> CandleResult<Tensor> {
    let layer = Linear::new(weight, bias);
    if x.rank() == 1 { layer.forward(&x.unsqueeze(0)?)?.squeeze(0) } else { layer.forward(x) }
}

/// The sum of all elements, a scalar.
///
/// # Errors
///
/// See the [module](self).
pub fn sum(scope: &Scope<'_, Candle>, path: &str, input: &Tensor) -> Result<Tensor, Error> {
    wide(scope, Op::SUM, path, [input], |[x]| x.sum_all())
}

/// The mean of all elements, a scalar.
///
/// # Errors
///
/// See the [module](self).
pub fn mean(scope: &Scope<'_, Candle>, path: &str, input: &Tensor) -> Result<Tensor, Error> {
    wide(scope, Op::MEAN, path, [input], |[x]| x.mean_all())
}

/// The mean of squared differences, a scalar.
///
/// # Errors
///
/// See the [module](self).
pub fn mse_loss(
    scope: &Scope<'_, Candle>,
    path: &str,
    input: &Tensor,
    target: &Tensor,
) -> Result<Tensor, Error> {
    wide(scope, Op::MSE_LOSS, path, [input, target], |[x, y]| candle_nn::loss::mse(&x, &y))
}

/// The mean negative log-likelihood of class labels (integers, one a row) from logits, a scalar; NaN where there is no row.
///
/// # Errors
///
/// See the [module](self). On the CPU also where a label is no class.
pub fn cross_entropy(
    scope: &Scope<'_, Candle>,
    path: &str,
    logits: &Tensor,
    labels: &Tensor,
) -> Result<Tensor, Error> {
    wide(scope, Op::CROSS_ENTROPY, path, [logits], |[x]| {
        let (rows, classes) = x.dims2()?;
        check_labels(labels, rows, classes)?;
        if rows == 0 {
            return x.sum_all()?.affine(f64::NAN, 0.0);
        }
        candle_nn::loss::cross_entropy(&x, labels)
    })
}

/// Exponentials along `dim`, normalised to sum 1.
///
/// # Errors
///
/// See the [module](self).
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
/// See the [module](self).
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

/// Normalisation over the last axis to mean 0 and variance 1, `eps` added to the variance; then times `weight` plus `bias`.
///
/// # Errors
///
/// See the [module](self).
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

/// Division by the root mean square over the last axis, `eps` added to the mean square; then times `weight`.
///
/// # Errors
///
/// See the [module](self).
pub fn rms_norm(
    scope: &Scope<'_, Candle>,
    path: &str,
    [input, weight]: [&Tensor; 2],
    eps: f64,
) -> Result<Tensor, Error> {
    narrowed(scope, RMS_NORM, path, [input, weight], |[x, weight]| {
        unit(&x, eps)?.broadcast_mul(&weight)
    })
}

/// `x` over the root of its mean square along the last axis.
fn unit(x: &Tensor, eps: f64) -> CandleResult<Tensor> {
    x.broadcast_div(&(x.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?)
}

/// A product: on the CPU in `f32` and rounded once, since candle's own there round sums in between; elsewhere candle's own.
fn product<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    if operands.iter().all(|tensor| tensor.device().is_cpu()) {
        return narrowed(scope, op, path, operands, compute);
    }
    Ok(compute(scope.cast(op, path, operands)?.map(Cow::into_owned))?)
}

/// Computes in `f32` or wider on operands that were cast as the policy says.
fn wide<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let cast = scope.cast(op, path, operands)?.map(Cow::into_owned);
    Ok(compute(widened(op, cast)?)?)
}

/// The same, rounded to the type that the operands were cast to.
fn narrowed<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let cast = scope.cast(op, path, operands)?.map(Cow::into_owned);
    let dtype = cast.first().map_or(DType::F32, Tensor::dtype);
    Ok(compute(widened(op, cast)?)?.to_dtype(dtype)?)
}

/// In `f32`, or in `f64` where the first is. What is of no floating-point type, or of another than the first, is an error, as it
/// is to candle; but the parameters of a normalisation may be of `f32`, and are where its input alone was lowered.
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

/// An error where labels are no integers, not one a row, or, on the CPU, one is no class. candle itself looks there too, but takes the largest
/// integer for a label whose loss is 0; elsewhere looking would wait for the device.
fn check_labels(labels: &Tensor, rows: usize, classes: usize) -> CandleResult<()> {
    if !labels.dtype().is_int() {
        let (msg, got) = ("labels are integers", labels.dtype());
        return Err(CandleError::UnexpectedDType { msg, expected: DType::U32, got });
    }
    if labels.dims() != [rows] {
        let (msg, got) = ("labels are one a row of the logits".to_owned(), labels.shape().clone());
        return Err(CandleError::UnexpectedShape { msg, expected: rows.into(), got });
    }
    if !labels.device().is_cpu() || rows == 0 {
        return Ok(());
    }
    let largest = labels.to_dtype(DType::I64)?.max_all()?.to_scalar::<i64>()?;
    let index = usize::try_from(largest).unwrap_or_default();
    if index < classes {
        return Ok(());
    }
    Err(CandleError::InvalidIndex { op: "cross_entropy", index, size: classes })
}
