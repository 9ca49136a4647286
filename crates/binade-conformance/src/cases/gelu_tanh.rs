//! The approximation of the Gaussian error linear unit by a hyperbolic tangent, over the whole range.
//!
//! A device's `exp` is allowed 2 ulps, as in `silu.rs`. Its argument `z = 2·√(2/π)·(x + 0.044715·x³)` is rounded four times, which
//! moves `e^−z` by 4·|z|·2^-24 of its value.

use super::prelude::*;
use crate::OpInvocation::{GeluTanh, GeluTanhBackward};
use std::f64::consts::PI;

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [GeluTanh, GeluTanhBackward], [-4.0, 4.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "it_is_the_form_by_tanh_and_not_the_exact_one", move |run| {
            let values = (-40..=40).map(|x| f64::from(x) / 8.0);
            both(run, &Stored::vector(dtype, values))
        });
        cases.add(dtype, "the_lower_tail_keeps_its_digits", move |run| {
            both(run, &Stored::vector(dtype, (0..64).map(|x| -4.0 - f64::from(x) / 12.0)))
        });
        cases.add(dtype, "far_out_it_is_the_identity_and_zero", move |run| {
            let far = [16.0, 30.0, 1000.0, 65504.0, f64::INFINITY, 0.0].into_iter();
            both(run, &Stored::vector(dtype, far.flat_map(|x: f64| [[x; 8], [-x; 8]].concat())))
        });
        cases.add(dtype, "a_nan_gives_a_nan", move |run| {
            let codes = in_every_lane(nans(dtype));
            both(run, &Stored::code_vector(dtype, codes))
        });
    }
}

/// Forward, and backward from the same input.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    run.near(GeluTanh, &[x], [(x.dtype, gelu_tanh(&values(x)))])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(x));
    run.near(GeluTanhBackward, &[&g, x], [(x.dtype, wanted)])
}

// The oracle.

/// `x·σ(z)`, which is `x·(1 + tanh(z/2)) / 2`, and at −∞ its limit.
fn gelu_tanh(x: &[f64]) -> Vec<Expected> {
    let one = |&x: &f64| {
        if x == f64::NEG_INFINITY {
            return Expected::exactly(-0.0);
        }
        let (z, _) = argument(x);
        let value = x * logistic(z);
        let moved = if x.is_infinite() { 0.0 } else { 4.0 * z.abs() * logistic(-z) };
        Expected::near(value, value.abs() * (9.0 + moved))
    };
    x.iter().map(one).collect()
}

/// `grad·σ(z)·(1 + x·z′·σ(−z))`.
fn backward(grad: &[f64], x: &[f64]) -> Vec<Expected> {
    let one = |(&g, &x): (&f64, &f64)| {
        if x.is_infinite() {
            return Expected::exactly(g * f64::from(u8::from(x > 0.0)));
        }
        let (z, steepness) = argument(x);
        let (s, rest) = (logistic(z), logistic(-z));
        let slope = x * steepness * rest;
        // As for the sigmoid linear unit, and the error of the argument in both exponentials.
        let moved = 4.0 * z.abs() * rest;
        let mass = s
            * (12.0
                + moved
                + slope.abs() * (26.0 + 4.0 * z.abs())
                + 4.0 * s * (x * steepness).abs());
        Expected::near(g * s * (1.0 + slope), g.abs() * mass)
    };
    grad.iter().zip(x).map(one).collect()
}

/// `z`, and its derivative.
fn argument(x: f64) -> (f64, f64) {
    let twice = 2.0 * (2.0 / PI).sqrt();
    (twice * (x + 0.044_715 * x.powi(3)), twice * (1.0 + 3.0 * 0.044_715 * x * x))
}

/// `σ(x)`, by an exponential that cannot overflow.
fn logistic(x: f64) -> f64 {
    let e = (-x.abs()).exp();
    if x < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}
