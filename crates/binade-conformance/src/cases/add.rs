//! Elementwise sum: rounded to `f32`, then to what it is stored in.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Add, AddBackward};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    binary(cases, &Add, both);
}

/// Forward, and the gradient handed on twice.
fn both(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    let sum = add(&values(a), &values(b));
    run.exact(Add, &[a, b], [(a.dtype, sum)])?;
    let wanted = [a, a].map(|g| (g.dtype, values(g)));
    run.exact(AddBackward, &[a], wanted)
}

// The oracle.

/// `a + b`. Of two numbers of `f32`, the sum in `f64` rounds to `f32` as the exact one would: 53 bits are more than twice 24
/// and two (Figueroa, "When is double rounding innocuous?", 1995).
fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a + b, F32)).collect()
}
