//! Elementwise product: rounded to `f32`, then to the storage type.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Mul, MulBackward};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    binary(cases, &Mul, both);
}

/// Forward, and a gradient times each operand.
fn both(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    let product = mul(&values(a), &values(b));
    run.exact(Mul, &[a, b], [(a.dtype, product)])?;
    let g = uniform(a.len(), a.dtype, &[a.len()], [-1.0, 1.0]);
    let wanted = [b, a].map(|other| (a.dtype, mul(&values(&g), &values(other))));
    run.exact(MulBackward, &[&g, a, b], wanted)
}

// The oracle.

/// `a·b`; of two numbers of `f32`, the product in `f64` is exact.
fn mul(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a * b, F32)).collect()
}
