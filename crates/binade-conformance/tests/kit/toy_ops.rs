//! Operations of `binade-ops` as one would first write them down: plain loops in `f32`, rounded at the end.

use crate::toy::Plain;
use binade_conformance::{Compute, Refusal};
use binade_core::DType;

pub(crate) fn compute(op: &Compute, operands: &[&Plain]) -> Result<Vec<Plain>, Refusal> {
    match (op, operands) {
        (Compute::MatMul, [a, b]) => Ok(vec![matmul(a, b, total)]),
        (Compute::Sum, [x]) => Ok(vec![Plain::write(&[total(&x.read())], DType::F32, &[])]),
        (Compute::Mean, [x]) => {
            let x = x.read();
            Ok(vec![Plain::write(&[total(&x) / count(x.len())], DType::F32, &[])])
        }
        _ => Err(Refusal::unsupported("the operation")),
    }
}

/// One after the other.
pub(crate) fn total(terms: &[f32]) -> f32 {
    terms.iter().fold(0.0, |sum, x| sum + x)
}

/// The product of two matrices, with the terms of each element added up by `sum`.
pub(crate) fn matmul(a: &Plain, b: &Plain, sum: impl Fn(&[f32]) -> f32) -> Plain {
    let (rows, inner, columns) = (a.shape[0], a.shape[1], b.shape[1]);
    let (left, right) = (a.read(), b.read());
    let cell = |i: usize| {
        let term = |k| left[i / columns * inner + k] * right[k * columns + i % columns];
        sum(&(0..inner).map(term).collect::<Vec<f32>>())
    };
    let product: Vec<f32> = (0..rows * columns).map(cell).collect();
    Plain::write(&product, a.dtype, &[rows, columns])
}

/// A count as a number.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^24")]
pub(crate) fn count(n: usize) -> f32 {
    n as f32
}
