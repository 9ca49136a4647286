//! Element-by-element operations: widened, computed in f32, narrowed once.

use super::operands::check;
use crate::{Error, Tensor, parallel};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Applies `f` to each element.
pub(super) fn map(
    call: &OpInvocation,
    input: &Tensor,
    f: impl Fn(f32) -> f32 + Sync,
) -> Result<Tensor, Error> {
    let TensorSpec { dtype, shape } = check(call, &[input])?;
    let x = input.to_f32();
    let mut out = vec![0.0; x.len()];
    parallel::blocks(&mut out, |first, block| {
        let x = &x[first..first + block.len()];
        block.iter_mut().zip(x).for_each(|(out, x)| *out = f(*x));
    });
    Tensor::from_f32(out, &shape, dtype)
}

/// Applies `f` to each pair of elements.
pub(super) fn zip(
    call: &OpInvocation,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Tensor, Error> {
    zip_as(&check(call, &[a, b])?, a, b, f)
}

/// Applies `f` to each pair of elements, and returns a tensor of `spec`, which has their shape.
pub(super) fn zip_as(
    spec: &TensorSpec,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Tensor, Error> {
    let (a, b) = (a.to_f32(), b.to_f32());
    let mut out = vec![0.0; a.len()];
    parallel::blocks(&mut out, |first, block| {
        let (a, b) = (&a[first..first + block.len()], &b[first..first + block.len()]);
        block.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = f(*a, *b));
    });
    Tensor::from_f32(out, &spec.shape, spec.dtype)
}
