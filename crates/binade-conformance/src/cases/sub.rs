//! Elementwise difference: rounded to `f32`, then to the storage type.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Sub, SubBackward};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    binary(cases, &Sub, both);
}

/// Forward, and a gradient for each operand.
fn both(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    run.exact(Sub, &[a, b], [(a.dtype, sub(&values(a), &values(b)))])?;
    let g = uniform(a.len(), a.dtype, &[a.len()], [-1.0, 1.0]);
    let (grad, opposite) = (values(&g), values(&g).iter().map(|g| -g).collect());
    run.exact(SubBackward, &[&g], [(a.dtype, grad), (a.dtype, opposite)])
}

// The oracle.

/// Returns `a − b`, computed in `f64`: with 53 bits, the second rounding to `f32` gives the same as a single one.
fn sub(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a - b, F32)).collect()
}
