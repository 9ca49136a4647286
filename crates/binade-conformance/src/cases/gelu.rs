//! The Gaussian error linear unit: the exact form, over the whole range.
//!
//! The oracle has an error function of its own.
//!
//! A device's `erfc` is allowed 4 ulps, which are 8·2^-24 of its value, and an argument `x/√2` that was rounded twice: that
//! moves `Φ(x)` by `|x|φ(x)`·2·2^-24. A device's `exp` is allowed 2 ulps and an argument rounded thrice, `x²/2`·3·2^-24.

use super::prelude::*;
use crate::OpInvocation::{Gelu, GeluBackward};
use std::f64::consts::{FRAC_1_SQRT_2, PI, TAU};

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [Gelu, GeluBackward], [-4.0, 4.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "it_is_the_exact_form_and_not_that_by_tanh", move |run| {
            let values = (-40..=40).map(|x| f64::from(x) / 8.0);
            both(run, &Stored::vector(dtype, values))
        });
        cases.add(dtype, "the_lower_tail_keeps_its_digits", move |run| {
            both(run, &Stored::vector(dtype, (0..64).map(|x| -4.0 - f64::from(x) / 8.0)))
        });
        cases.add(dtype, "far_out_it_is_the_identity_and_zero", move |run| {
            let far = [30.0, 1000.0, f64::INFINITY, 0.0]
                .into_iter()
                .flat_map(|x: f64| [[x; 8], [-x; 8]].concat());
            both(run, &Stored::vector(dtype, far))
        });
        cases.add(dtype, "a_nan_gives_a_nan", move |run| {
            let codes = in_every_lane(nans(dtype));
            both(run, &Stored::code_vector(dtype, codes))
        });
    }
}

/// Forward, and backward from the same input.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    run.near(Gelu, &[x], [(x.dtype, gelu(&values(x)))])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(x));
    run.near(GeluBackward, &[&g, x], [(x.dtype, wanted)])
}

// The oracle.

/// `x·Φ(x)`, and at −∞ its limit.
fn gelu(x: &[f64]) -> Vec<Expected> {
    let one = |&x: &f64| {
        if x == f64::NEG_INFINITY {
            return Expected::exactly(-0.0);
        }
        let value = x * distribution(x);
        // The error function, one product within it, and one with x.
        Expected::near(value, 12.0 * value.abs() + 4.0 * x * x * density(x))
    };
    x.iter().map(one).collect()
}

/// `grad·(Φ(x) + x·φ(x))`.
fn backward(grad: &[f64], x: &[f64]) -> Vec<Expected> {
    let one = |(&g, &x): (&f64, &f64)| {
        if x.is_infinite() {
            return Expected::exactly(g * f64::from(u8::from(x > 0.0)));
        }
        let (area, slope) = (distribution(x), x * density(x));
        // In addition to the file's comment: two products, one sum and the product with grad.
        let mass = 14.0 * area + slope.abs() * (16.0 + 2.0 * x * x);
        Expected::near(g * (area + slope), g.abs() * mass)
    };
    grad.iter().zip(x).map(one).collect()
}

/// `φ(x)`, the normal density.
fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / TAU.sqrt()
}

/// `Φ(x)`, the normal distribution function.
fn distribution(x: f64) -> f64 {
    0.5 * erfc(-x * FRAC_1_SQRT_2)
}

/// The complementary error function: below 2 by the series DLMF 7.6.2, whose terms are all positive; from there on by the
/// continued fraction DLMF 7.9.1 of Laplace, from its tail.
fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..80 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        return 1.0 - 2.0 / PI.sqrt() * (-x * x).exp() * sum;
    }
    let tail = (1..=200).rev().fold(x, |tail, k| x + 0.5 * f64::from(k) / tail);
    (-x * x).exp() / (PI.sqrt() * tail)
}
