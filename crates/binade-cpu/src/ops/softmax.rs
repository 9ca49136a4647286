//! Softmax.

use super::operands::check;
use crate::{Cpu, Error, Tensor, elementary::exponentials, parallel, reduce};
use binade_core::TensorSpec;
use binade_core::ops::{OpInvocation, Softmax};

impl Softmax for Cpu {
    fn softmax(&self, input: &Tensor) -> Result<Tensor, Error> {
        by_row(&OpInvocation::Softmax, input, softmax)
    }

    fn softmax_backward(&self, grad: &Tensor, output: &Tensor) -> Result<Tensor, Error> {
        by_row2(&OpInvocation::SoftmaxBackward, grad, output, |g, y, out| {
            let dot = reduce::round(reduce::run2(g, y, |g, y| f64::from(g) * f64::from(y)));
            out.iter_mut().zip(g).zip(y).for_each(|((out, g), y)| *out = y * (g - dot));
        })
    }
}

/// Returns the cost of a row whose elements go through an exponential.
pub(super) fn cost(width: usize) -> usize {
    width * 8
}

/// Computes `exp(x) / Σ exp(x)`.
pub(super) fn softmax(row: &[f32], out: &mut [f32]) {
    out.copy_from_slice(row);
    exponentials(out, largest(row));
    let factor = reduce::round(reduce::run(out, f64::from).recip());
    for out in out {
        *out *= factor;
    }
}

/// Returns the largest element of a row, and the sum of exponentials of the differences from it.
pub(super) fn normaliser(row: &[f32]) -> (f32, f64) {
    let (max, mut terms, mut sum) = (largest(row), [0.0; parallel::CHUNK], 0.0);
    for row in row.chunks(parallel::CHUNK) {
        let terms = &mut terms[..row.len()];
        terms.copy_from_slice(row);
        exponentials(terms, max);
        sum += reduce::run(terms, f64::from);
    }
    (max, sum)
}

/// Returns the largest element. It ignores NaN, but the sum of exponentials does not.
fn largest(row: &[f32]) -> f32 {
    row.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

/// Calls `f(input, output)` for each row.
pub(super) fn by_row(
    call: &OpInvocation,
    input: &Tensor,
    f: impl Fn(&[f32], &mut [f32]) + Sync,
) -> Result<Tensor, Error> {
    each_row(&check(call, &[input])?, input, input, |x, _, out| f(x, out))
}

/// Calls `f(a, b, output)` for each row of two operands.
pub(super) fn by_row2(
    call: &OpInvocation,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(&[f32], &[f32], &mut [f32]) + Sync,
) -> Result<Tensor, Error> {
    each_row(&check(call, &[a, b])?, a, b, f)
}

/// Computes a tensor of `spec`, row by row, from two of its shape.
fn each_row(
    spec: &TensorSpec,
    a: &Tensor,
    b: &Tensor,
    f: impl Fn(&[f32], &[f32], &mut [f32]) + Sync,
) -> Result<Tensor, Error> {
    let (a, b) = (a.to_f32(), b.to_f32());
    let width = spec.shape.last().copied().unwrap_or(1);
    let mut out = parallel::zeros(a.len());
    parallel::rows(&mut out, width, cost(width), |first, block| {
        let (a, b) = (&a[first * width..], &b[first * width..]);
        let operands = a.chunks_exact(width).zip(b.chunks_exact(width));
        let rows = block.chunks_exact_mut(width);
        rows.zip(operands).for_each(|(out, (a, b))| f(a, b, out));
    });
    Tensor::from_f32(out, &spec.shape, spec.dtype)
}
