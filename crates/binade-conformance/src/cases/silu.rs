//! The sigmoid linear unit, down to its lower tail below the normal numbers.
//!
//! A device's `exp` is allowed 2 ulps, which are 4·2^-24 of its value, in the numerator and, at most halved, in the denominator; the
//! sum, the quotient and the product are rounded once each.

use super::prelude::*;
use crate::OpInvocation::{Silu, SiluBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [Silu, SiluBackward], [-8.0, 8.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "the_lower_tail_keeps_its_digits", move |run| {
            both(run, &Stored::vector(dtype, (0..64).map(|x| -4.0 - f64::from(x) * 1.375)))
        });
        cases.add(dtype, "far_out_it_is_the_identity_and_zero", move |run| {
            let far = [120.0, 1000.0, 65504.0].into_iter();
            both(run, &Stored::vector(dtype, far.flat_map(|x| [[x; 8], [-x; 8]].concat())))
        });
        cases.add(dtype, "a_nan_and_minus_infinity_give_a_nan", move |run| {
            both(run, &Stored::code_vector(dtype, in_every_lane(not_finite(dtype))))
        });
    }
}

/// Forward, and backward from the same input.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    run.near(Silu, &[x], [(x.dtype, silu(&values(x)))])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(x));
    run.near(SiluBackward, &[&g, x], [(x.dtype, wanted)])
}

// The oracle.

/// `x·σ(x)`, with nine units: six of the exponentials, and one of each operation.
fn silu(x: &[f64]) -> Vec<Expected> {
    x.iter().map(|x| x * logistic(*x)).map(|y| Expected::near(y, 9.0 * y.abs())).collect()
}

/// `grad·σ(x)·(1 + x·σ(−x))`.
fn backward(grad: &[f64], x: &[f64]) -> Vec<Expected> {
    let one = |(&g, &x): (&f64, &f64)| {
        let (s, rest) = (logistic(x), logistic(-x));
        // Nine units of each logistic function, and one of each operation; also 1 − σ(x) instead of σ(−x), for σ(x) near 1.
        let mass = s * (12.0 + x.abs() * (22.0 * rest + 4.0 * s));
        Expected::near(g * s * (1.0 + x * rest), g.abs() * mass)
    };
    grad.iter().zip(x).map(one).collect()
}

/// `σ(x)`, by an exponential that cannot overflow.
fn logistic(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}
