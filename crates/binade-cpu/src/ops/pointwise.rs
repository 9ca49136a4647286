//! Element-by-element operations: widened, computed in f32, narrowed once.

use super::operands;
use crate::{Error, Tensor, parallel};
use binade_core::Op;
use binade_ops::shape;

/// Applies `f` to each element.
pub(super) fn map(op: Op, input: &Tensor, f: impl Fn(f32) -> f32 + Sync) -> Result<Tensor, Error> {
    let dtype = operands::float(op, [input.dtype()])?;
    let x = input.to_f32();
    let mut out = vec![0.0; x.len()];
    parallel::blocks(&mut out, |first, block| {
        let x = &x[first..first + block.len()];
        block.iter_mut().zip(x).for_each(|(out, x)| *out = f(*x));
    });
    Tensor::from_f32(out, input.shape(), dtype)
}

/// Applies `f` to each pair of elements.
pub(super) fn zip(
    op: Op,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Tensor, Error> {
    let shape = shape::same(op, a.shape(), b.shape())?;
    let dtype = operands::float(op, [a.dtype(), b.dtype()])?;
    let (a, b) = (a.to_f32(), b.to_f32());
    let mut out = vec![0.0; a.len()];
    parallel::blocks(&mut out, |first, block| {
        let (a, b) = (&a[first..first + block.len()], &b[first..first + block.len()]);
        block.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = f(*a, *b));
    });
    Tensor::from_f32(out, &shape, dtype)
}
