//! Elementwise sum: rounded to `f32`, then to what it is stored in.

use super::ask::{Ask, Asks, Computes, pairs, values};
use crate::oracle::add::add as plus;
use crate::{Check, Compute, Operation, Stored, Verdict};

pub(super) fn add(cases: &mut Asks) {
    pairs(cases, Operation::Add, &Compute::Add, both);
}

/// Forward, and the gradient handed on twice.
fn both(s: &dyn Computes, check: &mut Check, [a, b]: [&Stored; 2], offset: usize) -> Verdict {
    let sum = plus(&values(a), &values(b));
    Ask::new(Compute::Add, &[a, b]).at(offset).exact(s, check, [(a.dtype, sum)])?;
    let wanted = [a, a].map(|g| (g.dtype, values(g)));
    Ask::new(Compute::AddBackward, &[a]).at(offset).exact(s, check, wanted)
}
