//! candle's operations in an open region: cast as its policy says, accumulated in `f32`, and never cutting the graph.
//!
//! candle's own compute in the type that they are given: a sum of ones in `f16` stops at 2048, and one in `bf16` at 256. Its
//! fused `LayerNorm` with a bias, `RmsNorm` and `softmax_last_dim` have no backward, and leave everything above them without a
//! gradient. These are slower, and whole.
//!
//! * Operands are cast as the region's policy says for the operation, at `path` in the model.
//! * Reductions, normalisations and softmax compute in `f32`, or in `f64` where an operand is, whatever the operands' type.
//! * Normalisations and softmax give the type that their first operand has after the cast, rounded once; sums, means and losses
//!   stay as they were computed.
//! * The errors are the policy's, where it refuses the operation, and candle's.

use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::{Op, OpClass};
use candle_core::shape::Dim;
use candle_core::{D, DType, Module, Result as CandleResult, Tensor};
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
    let [a, b] = scope.cast(op, path, [a, b])?;
    Ok(a.matmul(&b)?)
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
    let (input, weight, bias) = if let Some(bias) = bias {
        let [input, weight, bias] = scope.cast(Op::LINEAR, path, [input, weight, bias])?;
        (input, weight, Some(bias.into_owned()))
    } else {
        let [input, weight] = scope.cast(Op::LINEAR, path, [input, weight])?;
        (input, weight, None)
    };
    Ok(Linear::new(weight.into_owned(), bias).forward(&input)?)
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

/// The mean negative log-likelihood of class labels (integers, one a row) from logits, a scalar.
///
/// # Errors
///
/// See the [module](self).
pub fn cross_entropy(
    scope: &Scope<'_, Candle>,
    path: &str,
    logits: &Tensor,
    labels: &Tensor,
) -> Result<Tensor, Error> {
    wide(scope, Op::CROSS_ENTROPY, path, [logits], |[x]| candle_nn::loss::cross_entropy(&x, labels))
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
    narrowed(scope, Op::SOFTMAX, path, [input], |[x]| candle_nn::ops::softmax(&x, dim))
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
    narrowed(scope, Op::LOG_SOFTMAX, path, [input], |[x]| candle_nn::ops::log_softmax(&x, dim))
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

/// Computes in `f32` or wider on operands that were cast as the policy says.
fn wide<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let cast = scope.cast(op, path, operands)?.map(Cow::into_owned);
    Ok(compute(widened(cast)?)?)
}

/// The same, rounded to the type that the first operand was cast to.
fn narrowed<const N: usize>(
    scope: &Scope<'_, Candle>,
    op: Op,
    path: &str,
    operands: [&Tensor; N],
    compute: impl FnOnce([Tensor; N]) -> CandleResult<Tensor>,
) -> Result<Tensor, Error> {
    let cast = scope.cast(op, path, operands)?.map(Cow::into_owned);
    let dtype = cast.first().map_or(DType::F32, Tensor::dtype);
    Ok(compute(widened(cast)?)?.to_dtype(dtype)?)
}

/// All in `f64` where one is, else in `f32`.
fn widened<const N: usize>(mut operands: [Tensor; N]) -> CandleResult<[Tensor; N]> {
    let is_double = operands.iter().any(|tensor| tensor.dtype() == DType::F64);
    let dtype = if is_double { DType::F64 } else { DType::F32 };
    for tensor in &mut operands {
        *tensor = tensor.to_dtype(dtype)?;
    }
    Ok(operands)
}
