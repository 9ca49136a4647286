//! The hyperbolic tangent, from where it is the identity to where it is one.

use super::prelude::*;
use crate::OpInvocation::{Tanh, TanhBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [Tanh, TanhBackward], [-4.0, 4.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "every_magnitude_keeps_its_digits", move |run| {
            both(run, &Stored::vector(dtype, finite(1, 257, dtype, [-13.0, 6.0])))
        });
        cases.add(dtype, "a_nan_gives_a_nan_and_infinity_one", move |run| {
            let codes = in_every_lane(awkward(dtype));
            both(run, &Stored::code_vector(dtype, codes))
        });
    }
}

/// Compares forward, and backward from the oracle's result.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let y = tanh(&values(x));
    let rounded = Stored::vector(x.dtype, y.iter().map(|y| y.value));
    run.near(Tanh, &[x], [(x.dtype, y)])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(&rounded));
    run.near(TanhBackward, &[&g, &rounded], [(x.dtype, wanted)])
}

// The oracle.

/// `tanh(x)`: 3 ulps, of which a device's own function is allowed 2, make 6·2^-24 of the value.
fn tanh(x: &[f64]) -> Vec<Expected> {
    x.iter().map(|x| x.tanh()).map(|y| Expected::near(y, 6.0 * y.abs())).collect()
}

/// `grad·(1 − y²)` from the result `y`: the square, the difference and the product are each rounded once.
fn backward(grad: &[f64], y: &[f64]) -> Vec<Expected> {
    let one = |(&g, &y): (&f64, &f64)| {
        let slope = 1.0 - y * y;
        Expected::near(g * slope, g.abs() * (y * y + 2.0 * slope.abs()))
    };
    grad.iter().zip(y).map(one).collect()
}
