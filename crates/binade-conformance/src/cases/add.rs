//! Elementwise sum: rounded to `f32`, then to the storage type.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Add, AddBackward};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    binary(cases, &Add, both);
}

/// Compares forward, and backward, which gives the gradient to both operands.
fn both(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    let sum = add(&values(a), &values(b));
    run.exact(Add, &[a, b], [(a.dtype, sum)])?;
    let wanted = [a, a].map(|g| (g.dtype, values(g)));
    run.exact(AddBackward, &[a], wanted)
}

// The oracle.

/// Returns `a + b`. The `f64` sum of two `f32` numbers rounds to `f32` as the exact sum does, since 53 bits are at least 2·24 + 2 (Figueroa, "When is
/// double rounding innocuous?", 1995).
fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a + b, F32)).collect()
}
