//! The exponential function, from its subnormal results to its infinite ones.
//!
//! A device's `exp` is allowed 2 ulps, which are 4·2^-24 of its value; a subnormal result besides half a unit of its own.

use super::prelude::*;
use crate::OpInvocation::{Exp, ExpBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [Exp, ExpBackward], [-8.0, 8.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "small_results_keep_their_digits", move |run| {
            both(run, &Stored::vector(dtype, (0..104).map(|x| 0.5 - f64::from(x))))
        });
        cases.add(dtype, "results_beyond_the_range_are_infinite_or_zero", move |run| {
            let far = [88.5, 89.0, 1000.0, 65504.0, f64::INFINITY].into_iter();
            both(run, &Stored::vector(dtype, far.flat_map(|x| [[x; 8], [-2.0 * x; 8]].concat())))
        });
        cases.add(dtype, "a_nan_gives_a_nan", move |run| {
            let codes = in_every_lane(nans(dtype));
            both(run, &Stored::code_vector(dtype, codes))
        });
    }
}

/// Compares forward, and backward from the oracle's result.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let y: Vec<f64> = values(x).iter().map(|x| x.exp()).collect();
    let rounded = Stored::vector(x.dtype, y.clone());
    let near = y.iter().map(|y| Expected::near(*y, 4.0 * y.abs())).collect();
    run.near(Exp, &[x], [(x.dtype, near)])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = product(&values(&g), &values(&rounded));
    run.exact(ExpBackward, &[&g, &rounded], [(x.dtype, wanted)])
}

// The oracle.

/// `grad·y`, rounded to f32.
fn product(grad: &[f64], y: &[f64]) -> Vec<f64> {
    grad.iter().zip(y).map(|(g, y)| super::cast::rounded(g * y, DType::F32)).collect()
}
