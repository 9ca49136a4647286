//! Sums: `f32` inside whatever the storage, every element once.
//!
//! The oracle adds in `f64`.

use super::prelude::*;
use crate::OpInvocation::{Sum, SumBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        integers(cases, dtype);
        random(cases, dtype);
        classes(cases, dtype);
        gradients(cases, dtype);
    }
    for dtype in EIGHT_BITS {
        gradients(cases, dtype);
    }
    // As many as make more chunks than a block has threads, several times over.
    cases.add(DType::BF16, "eight_million_ones_are_eight_million", |run| {
        exact(run, &Stored::vector(DType::BF16, vec![1.0; 8_396_800]))
    });
    let op = SumBackward { shape: vec![2], dtype: DType::F32 };
    mismatches(cases, [(Sum, "i64:2"), (op, "1, f16:scalar")]);
    let spread = SumBackward { shape: vec![HUGE, 3], dtype: DType::F32 };
    too_large(cases, [(spread, "scalar")]);
}

/// Shapes of what a gradient is spread over: the ends of vectors, and sizes that fill a power of two bytes, and blocks, to
/// the last.
const SPREAD: [[usize; 2]; 8] =
    [[0, 3], [1, 3], [7, 3], [33, 3], [257, 3], [8, 16], [32, 32], [64, 32]];

/// Gradients of a scalar: ties between codes of the narrowest types, the largest, some beyond, and no numbers.
const GRADS: [f64; 11] =
    [0.0, 1.0, -1.1875, 1.3125, -448.0, 464.0, 470.0, -57344.0, 65536.0, f64::INFINITY, f64::NAN];

/// Gradients of which some are below the normal numbers of the narrowest types: a tie, and what is no tie.
const SMALL: [f64; 6] = [0.013, -0.001, 5.0 / 1024.0, 2.5 / 65536.0, 2e-5, 3e-8];

/// A scalar's gradients, and shapes to spread them over.
pub(super) fn spreads() -> impl Iterator<Item = ([usize; 2], f64)> {
    let shapes = SPREAD.into_iter().flat_map(|shape| [0.1, -65536.0].map(|grad| (shape, grad)));
    shapes.chain(GRADS.into_iter().chain(SMALL).map(|grad| ([7, 3], grad)))
}

/// The gradient of the one result, everywhere.
fn gradients(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "the_gradient_is_the_same_everywhere", move |run| {
        spreads().try_for_each(|(shape, grad)| {
            let (op, g) = (SumBackward { shape: shape.into(), dtype }, scalar(grad));
            let wanted = vec![values(&g)[0]; shape.iter().product()];
            run.exact(op, &[&g], [(dtype, wanted)])
        })
    });
}

fn near(run: &mut OpRun<'_>, input: &Stored) -> Verdict {
    run.near(Sum, &[input], [(DType::F32, vec![sum(&values(input))])])
}

/// Compares sums bit by bit, for multiples of one number whose absolute sum stays below 2^24 of it: exact in any order.
fn exact(run: &mut OpRun<'_>, input: &Stored) -> Verdict {
    let wanted = sum(&values(input)).value;
    run.exact(Sum, &[input], [(DType::F32, vec![wanted])])
}

fn integers(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "seventy_thousand_ones_are_seventy_thousand", move |run| {
        exact(run, &Stored::vector(dtype, vec![1.0; 70_000]))
    });
    let sentence = "large_values_that_alternate_leave_what_is_between_them";
    cases.add(dtype, sentence, move |run| {
        let large = [57344.0, 57344.0, 96.0, -57344.0, -57344.0, 32.0];
        [1, 3, 40].into_iter().try_for_each(|times| {
            let values = large.iter().copied().cycle().take(6 * times);
            exact(run, &Stored::vector(dtype, values))
        })
    });
    for length in LENGTHS.into_iter().chain(LONG).filter(|&length| length > 0) {
        cases.add(dtype, format!("all_of_{length}_elements"), move |run| {
            places(length).into_iter().try_for_each(|(_, index)| {
                let mut values = vec![1.0; length];
                values[index] = 128.0;
                exact(run, &Stored::vector(dtype, values))
            })
        });
    }
}

fn random(cases: &mut OpCases, dtype: DType) {
    for length in [1, 2, 33, 1000, 4097, 65537] {
        cases.add(dtype, format!("random_{length}"), move |run| {
            let mut draw = Draw::new(length);
            let calm: Vec<f64> = (0..length).map(|_| draw.within(-1.0, 1.0)).collect();
            near(run, &Stored::vector(dtype, calm))?;
            let spread: Vec<f64> = (0..length).map(|_| draw.spread(-8.0, 8.0)).collect();
            near(run, &Stored::vector(dtype, spread))
        });
    }
    cases.starts(dtype, move |run, _, length| near(run, &ones(dtype, &[length])));
    cases
        .add(dtype, "the_sum_of_nothing_is_zero", move |run| near(run, &Stored::vector(dtype, [])));
    cases.add(dtype, "zeros_of_any_length_add_up_to_zero", move |run| {
        (1..10).try_for_each(|length| exact(run, &Stored::vector(dtype, vec![0.0; length])))
    });
    cases.add(dtype, "the_shape_does_not_matter", move |run| {
        let mut draw = Draw::new(4);
        let values: Vec<f64> = (0..210).map(|_| draw.within(-1.0, 1.0)).collect();
        let shapes = [&[210][..], &[3, 70], &[5, 6, 7], &[1, 210, 1]];
        shapes
            .into_iter()
            .try_for_each(|shape| near(run, &Stored::from_values(dtype, shape, values.clone())))
    });
}

fn classes(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "a_nan_or_an_infinity_anywhere_shows", move |run| {
        for length in [1, 9, 257, 4097] {
            for (_, index) in places(length) {
                for code in nans(dtype).into_iter().take(2).chain(infinities(dtype)) {
                    let mut codes = vec![0; length];
                    codes[index] = code;
                    near(run, &Stored::code_vector(dtype, codes))?;
                }
            }
        }
        Ok(())
    });
    cases.add(dtype, "every_nan_and_infinity_shows", move |run| {
        let one = |code| near(run, &Stored::code_vector(dtype, [1, code, 2]));
        not_finite(dtype).into_iter().try_for_each(one)
    });
    cases.add(dtype, "infinities_of_both_signs_are_nan", move |run| {
        near(run, &Stored::vector(dtype, [f64::INFINITY, 1.0, f64::NEG_INFINITY]))
    });
}

// The oracle.

/// The sum, with the mass n·Σ|x| that bounds the error of summing in `f32` in any order.
pub(super) fn sum(values: &[f64]) -> Expected {
    let mut wanted = Expected::exactly(0.0);
    for x in values {
        wanted.value += x;
        wanted.mass += x.abs();
    }
    wanted.mass *= count(values.len());
    wanted
}
