//! Elementwise quotient: rounded to `f32`, then to the storage type.
//!
//! WGSL allows a quotient 2.5 ulps, which are 5·2^-24 of its value.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Div, DivBackward};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    binary(cases, &Div, both);
}

/// Forward, and a gradient for each operand.
fn both(run: &mut OpRun<'_>, [a, b]: [&Stored; 2]) -> Verdict {
    let (dividend, divisor) = (values(a), values(b));
    run.near(Div, &[a, b], [(a.dtype, near(&div(&dividend, &divisor), 5.0))])?;
    let g = uniform(a.len(), a.dtype, &[a.len()], [-1.0, 1.0]);
    let of_dividend = near(&div(&values(&g), &divisor), 5.0);
    // Two quotients, and the product between them.
    let of_divisor = near(&of_divisor(&values(&g), &dividend, &divisor), 11.0);
    run.near(DivBackward, &[&g, a, b], [(a.dtype, of_dividend), (a.dtype, of_divisor)])
}

fn near(all: &[f64], units: f64) -> Vec<Expected> {
    all.iter().map(|x| Expected::near(*x, units * x.abs())).collect()
}

// The oracle.

/// Returns `a / b`, computed in `f64`: with 53 bits, the second rounding to `f32` gives the same as a single one.
fn div(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| rounded(a / b, F32)).collect()
}

/// `−grad·(a / b) / b`, rounded after each step.
fn of_divisor(grad: &[f64], a: &[f64], b: &[f64]) -> Vec<f64> {
    let quotients = div(a, b);
    let products: Vec<f64> =
        grad.iter().zip(&quotients).map(|(g, quotient)| rounded(g * quotient, F32)).collect();
    div(&products, b).iter().map(|x| -x).collect()
}
