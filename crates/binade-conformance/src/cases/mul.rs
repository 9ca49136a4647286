//! Elementwise product: rounded to `f32`, then to what it is stored in.

use super::ask::{Ask, Asks, Computes, pairs, uniform, values};
use crate::oracle::mul::mul;
use crate::{Check, Compute, Operation, Stored, Verdict};

pub(super) fn add(cases: &mut Asks) {
    pairs(cases, Operation::Mul, &Compute::Mul, both);
}

/// Forward, and a gradient times each operand.
fn both(s: &dyn Computes, check: &mut Check, [a, b]: [&Stored; 2], offset: usize) -> Verdict {
    let product = mul(&values(a), &values(b));
    Ask::new(Compute::Mul, &[a, b]).at(offset).exact(s, check, [(a.dtype, product)])?;
    let g = uniform(a.len(), a.dtype, &[a.len()], [-1.0, 1.0]);
    let wanted = [b, a].map(|other| (a.dtype, mul(&values(&g), &values(other))));
    Ask::new(Compute::MulBackward, &[&g, a, b]).at(offset).exact(s, check, wanted)
}
