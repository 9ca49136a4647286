//! Mean squared error: in `f32` whatever the storage.
//!
//! The oracle is the [`mean`](super::mean) of the squares.

use super::mean::mean;
use super::prelude::*;
use crate::OpInvocation::{MseLoss, MseLossBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        cases.lengths(dtype, SHORT, move |run, length| {
            let [x, y] = [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
            both(run, [&x, &y], 3.0)
        });
        cases.starts(dtype, move |run, _, length| {
            let [x, y] = [1, 2].map(|i| uniform(i + length, dtype, &[length], [-2.0, 2.0]));
            both(run, [&x, &y], 1.0)
        });
        cases.add(dtype, "squares_beyond_the_format_still_have_a_mean", move |run| {
            let [x, y] = [1024.0, -1024.0].map(|x| Stored::vector(dtype, vec![x; 33]));
            both(run, [&x, &y], 1.0)
        });
        cases.add(dtype, "squares_below_the_format_still_add_up", move |run| {
            let [x, y] = [2.0_f64.powi(-13), 0.0].map(|x| Stored::vector(dtype, vec![x; 9001]));
            both(run, [&x, &y], 65536.0)
        });
        cases.add(dtype, "a_nan_shows", move |run| {
            let x = Stored::vector(dtype, [1.0, f64::NAN, 2.0]);
            both(run, [&x, &Stored::vector(dtype, [1.0, 2.0, 3.0])], 1.0)?;
            let all = Stored::code_vector(dtype, in_every_lane(awkward(dtype)));
            both(run, [&all, &ones(dtype, &all.shape)], 1.0)
        });
        cases.add(dtype, "what_is_hit_to_the_bit_has_no_loss", move |run| {
            (1..10).try_for_each(|length| {
                let zeros = Stored::vector(dtype, vec![0.0; length]);
                run.exact(MseLoss, &[&zeros, &zeros], [(DType::F32, vec![0.0])])
            })
        });
    }
    mismatches(cases, [(MseLoss, "2 3, 2 f16:2"), (MseLossBackward, "f16:scalar 2 2, 1 2 2")]);
}

/// The loss, NaN for nothing, and both gradients for a scalar from above.
fn both(run: &mut OpRun<'_>, [x, y]: [&Stored; 2], grad: f64) -> Verdict {
    let (a, b) = (values(x), values(y));
    run.near(MseLoss, &[x, y], [(DType::F32, vec![mse_loss(&a, &b)])])?;
    let wanted = backward(grad, &a, &b).map(|wanted| (x.dtype, wanted));
    run.near(MseLossBackward, &[&scalar(grad), x, y], wanted)
}

// The oracle.

/// The mean of `(x − y)²`. The mass is the mean's, and 4·2^-24 of each term: a difference, squared, is rounded three times.
pub(super) fn mse_loss(x: &[f64], y: &[f64]) -> Expected {
    let squares: Vec<f64> = x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).collect();
    let Expected { value, mass, .. } = mean(&squares);
    Expected::near(value, mass + 4.0 * value)
}

/// `±2·(x − y)·grad / count`: a difference, a factor of two roundings and two products.
pub(super) fn backward(grad: f64, x: &[f64], y: &[f64]) -> [Vec<Expected>; 2] {
    let n = count(x.len());
    let towards = |x: &[f64], y: &[f64]| {
        let values = x.iter().zip(y).map(|(x, y)| 2.0 * (x - y) * grad / n);
        values.map(|value| Expected::near(value, 6.0 * value.abs())).collect()
    };
    [towards(x, y), towards(y, x)]
}
