//! Products: on the CPU in `f32`, rounded once.

use super::wide::narrowed;
use crate::{Candle, Error};
use binade_autocast::Scope;
use binade_core::Op;
use candle_core::{Module, Result as CandleResult, Tensor};
use candle_nn::Linear;
use std::borrow::Cow;

/// The product of two matrices, or of two equal batches of them.
///
/// # Errors
///
/// See the [module](super).
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
/// See the [module](super).
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

/// A product: on the CPU in `f32` and rounded once, since candle's own there round sums in between; elsewhere candle's own.
pub(super) fn product<const N: usize>(
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
