//! A vector added along the channel axis: axis 1 of images, the last axis of other tensors.

use super::cast::rounded;
use super::prelude::*;
use super::sum::sum;
use crate::OpInvocation::{BiasAdd, BiasAddBackward};
use binade_core::DType::F32;

const SHAPES: &str =
    "1x1 3x7 9x8 2x33 33x31 5x257 2x3x5 2x3x4x5 259x5 3x2x19x23 1x9x1x1 0x4 3x0 2x0x3x3";

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        for shape in shapes(SHAPES) {
            cases.add(dtype, format!("random_{}", name(&shape)), move |run| {
                both(run, &uniform(1, dtype, &shape, [-2.0, 2.0]))
            });
        }
        cases.starts(dtype, move |run, _, _| {
            both(run, &uniform(1, dtype, &[13, 5, 8, 8], [-2.0, 2.0]))
        });
        let sentence = "any_two_patterns_nan_and_infinity_among_them";
        cases.add(dtype, sentence, move |run| {
            let all = awkward(dtype);
            let bias = Stored::code_vector(dtype, all.clone());
            // Each row is rotated by one more, so that every pair of elements is added.
            let rows = (0..all.len()).flat_map(|from| [&all[from..], &all[..from]].concat());
            let x = Stored::from_codes(dtype, &[all.len(); 2], rows.collect::<Vec<u64>>());
            let wanted = bias_add(&values(&x), &values(&bias), &channels(&x.shape, 1));
            run.exact(BiasAdd, &[&x, &bias], [(dtype, wanted)])
        });
        let sentence = "the_gradient_of_the_bias_is_summed_wide";
        cases.add(dtype, sentence, move |run| {
            let all = [
                (&[4099, 2][..], 2, 4099.0),
                (&[2, 1, 33, 65], 1, 4290.0),
                (&[4, 1, 64, 64], 1, 16384.0),
            ];
            for (shape, channels, terms) in all {
                let g = ones(dtype, shape);
                let wanted = [(dtype, values(&g)), (dtype, vec![terms; channels])];
                run.exact(BiasAddBackward, &[&g], wanted)?;
            }
            Ok(())
        });
        cases.add(dtype, "nan_and_infinity_stay_in_their_place", move |run| {
            for bad in NON_FINITE {
                let x = Stored::from_values(dtype, &[2, 3], [1.0, bad, 3.0, 4.0, 5.0, 6.0]);
                both(run, &x)?;
            }
            Ok(())
        });
    }
    mismatches(cases, [(BiasAdd, "2x3 2, 2x3x4x4 4, f16:2x3 3"), (BiasAddBackward, "scalar")]);
}

/// Compares forward bit by bit, and backward of the same tensor as a gradient, whose sums are compared within their bounds.
fn both(run: &mut OpRun<'_>, x: &Stored) -> Verdict {
    let axis = axis(&x.shape);
    let (count, channels) = (x.shape[axis], channels(&x.shape, axis));
    let b = uniform(2, x.dtype, &[count], [-2.0, 2.0]);
    let wanted = bias_add(&values(x), &values(&b), &channels);
    run.exact(BiasAdd, &[x, &b], [(x.dtype, wanted)])?;
    let same = values(x).into_iter().map(Expected::exactly).collect();
    let wanted = [(x.dtype, same), (x.dtype, backward(&values(x), &channels, count))];
    run.near(BiasAddBackward, &[x], wanted)
}

// The oracle.

/// Returns the axis of channels: axis 1 of four axes, the last of any other number.
fn axis(shape: &[usize]) -> usize {
    if shape.len() == 4 { 1 } else { shape.len() - 1 }
}

/// Returns each element's index on this axis in a tensor of `shape`.
pub(super) fn channels(shape: &[usize], axis: usize) -> Vec<usize> {
    let inner: usize = shape[axis + 1..].iter().product();
    (0..shape.iter().product()).map(|at: usize| at / inner % shape[axis]).collect()
}

/// Returns `x + b` by the element's channel, rounded to `f32`.
fn bias_add(x: &[f64], bias: &[f64], channels: &[usize]) -> Vec<f64> {
    x.iter().zip(channels).map(|(x, &channel)| rounded(x + bias[channel], F32)).collect()
}

/// Returns the bias's gradient: for each of `count` channels, the sum over its elements.
fn backward(grad: &[f64], channels: &[usize], count: usize) -> Vec<Expected> {
    let of = |channel: usize| {
        let mine = grad.iter().zip(channels).filter(|(_, of)| **of == channel);
        sum(&mine.map(|(g, _)| *g).collect::<Vec<f64>>())
    };
    (0..count).map(of).collect()
}
