//! Elementwise sum: rounded to `f32`, then to what it is stored in.

use super::ask::pairs;
use super::cast::rounded;
use super::prelude::*;
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    pairs(cases, &OpInvocation::Add, both);
}

/// Forward, and the gradient handed on twice.
fn both(run: &mut OpRun<'_>, [a, b]: [&Stored; 2], offset: usize) -> Verdict {
    let sum = add(&values(a), &values(b));
    OpCase::new(OpInvocation::Add, &[a, b]).at(offset).exact(run, [(a.dtype, sum)])?;
    let wanted = [a, a].map(|g| (g.dtype, values(g)));
    OpCase::new(OpInvocation::AddBackward, &[a]).at(offset).exact(run, wanted)
}

/// Agreement: bits. Each element is one sum, rounded to `f32`.
pub(super) const AGREEMENT: Agrees = |_| Agreement::Bits;

// The oracle.

/// `a + b`. Of two numbers of `f32`, the sum in `f64` rounds to `f32` as the exact one would: 53 bits are more than twice 24
/// and two (Figueroa, "When is double rounding innocuous?", 1995).
fn add(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a + b, F32)).collect()
}
