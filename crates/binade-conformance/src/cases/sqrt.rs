//! The square root, subnormal operands and zeros among them.
//!
//! WGSL lets a root be `1 / inverseSqrt(x)`: 2 ulps and 2.5 more, which are 9·2^-24 of its value. A quotient has 2.5 ulps.

use super::cast::rounded;
use super::prelude::*;
use crate::OpInvocation::{Sqrt, SqrtBackward};
use binade_core::DType::F32;

pub(super) fn add_cases(cases: &mut OpCases) {
    unary(cases, [Sqrt, SqrtBackward], [0.0, 8.0], both);
    for dtype in FLOATS {
        cases.add(dtype, "every_magnitude_keeps_its_digits", move |run| {
            both(
                run,
                &Stored::vector(
                    dtype,
                    finite(1, 257, dtype, [-149.0, 127.0]).into_iter().map(f64::abs),
                ),
            )
        });
        cases.add(
            dtype,
            "zeros_keep_their_sign_and_other_negative_numbers_have_no_root",
            move |run| {
                let codes = in_every_lane(awkward(dtype));
                both(run, &Stored::code_vector(dtype, codes))
            },
        );
    }
}

/// Compares forward, and backward from the oracle's result.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let y: Vec<f64> = values(x).iter().map(|x| rounded(x.sqrt(), F32)).collect();
    let output = Stored::vector(x.dtype, y.clone());
    let near = y.iter().map(|y| Expected::near(*y, 9.0 * y.abs())).collect();
    run.near(Sqrt, &[x], [(x.dtype, near)])?;
    let g = uniform(x.len() + 1, x.dtype, &[x.len()], [-1.0, 1.0]);
    let wanted = backward(&values(&g), &values(&output));
    run.near(SqrtBackward, &[&g, &output], [(x.dtype, wanted)])
}

// The oracle.

/// `grad / 2y`.
fn backward(grad: &[f64], y: &[f64]) -> Vec<Expected> {
    let one = |(g, y): (&f64, &f64)| rounded(g / (2.0 * y), F32);
    grad.iter().zip(y).map(one).map(|slope| Expected::near(slope, 5.0 * slope.abs())).collect()
}
