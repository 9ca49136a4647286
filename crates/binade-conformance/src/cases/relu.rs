//! The rectified linear unit: NaN, both zeros, and the gradient at the corner.
//!
//! The oracle compares, and computes nothing.

use super::prelude::*;
use crate::OpInvocation::{Relu, ReluBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [Relu, ReluBackward], [-2.0, 2.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "a_nan_stays_a_nan_and_passes_its_gradient_on", move |run| {
            let all = Stored::code_vector(dtype, in_every_lane(awkward(dtype)));
            both(run, &all)?;
            let passed = [(dtype, values(&all))];
            run.exact(ReluBackward, &[&all, &ones(dtype, &all.shape)], passed)
        });
        cases.add(dtype, "the_gradient_at_zero_is_zero", move |run| {
            let y = Stored::vector(dtype, [0.0; 5]);
            let g = Stored::vector(dtype, [1.0, -1.0, f64::INFINITY, f64::NAN, -0.0]);
            run.exact(ReluBackward, &[&g, &y], [(dtype, vec![0.0; 5])])
        });
        cases.add(dtype, "a_zero_of_either_sign_gives_plus_zero", move |run| {
            let x = Stored::vector(dtype, [0.0, -0.0]);
            run.exact(Relu, &[&x], [(dtype, vec![0.0; 2])])
        });
    }
}

/// Compares forward, and backward from the oracle's result.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let y = relu(&values(x));
    run.exact(Relu, &[x], [(x.dtype, y.clone())])?;
    let y = Stored::vector(x.dtype, y);
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(&y));
    run.exact(ReluBackward, &[&g, &y], [(x.dtype, wanted)])
}

// The oracle.

/// `max(x, 0)`, where NaN stays NaN and either zero gives +0.
pub(super) fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| if x.is_nan() || x > 0.0 { x } else { 0.0 }).collect()
}

/// `grad` where the result `y` is positive or NaN, +0 elsewhere.
pub(super) fn backward(grad: &[f64], y: &[f64]) -> Vec<f64> {
    let passes = |y: f64| y.is_nan() || y > 0.0;
    grad.iter().zip(y).map(|(&g, &y)| if passes(y) { g } else { 0.0 }).collect()
}
