//! Elementwise product: rounded to `f32`, then to what it is stored in.

use super::ask::{Ask, Asks, Computes, pairs, uniform, values};
use super::cast::rounded;
use crate::{Agreement, Arithmetic, CaseGroup, Check, OpInvocation, Stored, Verdict};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut Asks) {
    pairs(cases, CaseGroup::Mul, &OpInvocation::Mul, both);
}

/// Forward, and a gradient times each operand.
fn both(s: &dyn Computes, check: &mut Check, [a, b]: [&Stored; 2], offset: usize) -> Verdict {
    let product = mul(&values(a), &values(b));
    Ask::new(OpInvocation::Mul, &[a, b]).at(offset).exact(s, check, [(a.dtype, product)])?;
    let g = uniform(a.len(), a.dtype, &[a.len()], [-1.0, 1.0]);
    let wanted = [b, a].map(|other| (a.dtype, mul(&values(&g), &values(other))));
    Ask::new(OpInvocation::MulBackward, &[&g, a, b]).at(offset).exact(s, check, wanted)
}

/// Returns how near a result must come: bits. Each element is one product, rounded to `f32`.
pub(super) const fn agreement(_: Arithmetic) -> Agreement {
    Agreement::Bits
}

// The oracle.

/// `a·b`; of two numbers of `f32`, the product in `f64` is exact.
fn mul(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a * b, F32)).collect()
}
