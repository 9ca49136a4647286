//! Means: a sum in `f32`, divided by the count.
//!
//! The oracle divides the sum of [`sum`](super::sum) in `f64`.

use super::cast::rounded;
use super::prelude::*;
use super::sum::{spreads, sum};
use crate::OpInvocation::{Mean, MeanBackward};

pub(super) fn add_cases(cases: &mut OpCases) {
    for dtype in FLOATS {
        exact_sums(cases, dtype);
        random(cases, dtype);
        classes(cases, dtype);
        gradients(cases, dtype);
    }
    for dtype in EIGHT_BITS {
        gradients(cases, dtype);
    }
    cases.add(DType::BF16, "the_mean_of_eight_million_ones_is_one", |run| {
        let ones = Stored::vector(DType::BF16, vec![1.0; 8_396_800]);
        run.exact(Mean, &[&ones], [(DType::F32, vec![1.0])])
    });
    let op = MeanBackward { shape: vec![2], dtype: DType::F32 };
    mismatches(cases, [(Mean, "i64:2"), (op, "1, f16:scalar")]);
    let spread = MeanBackward { shape: vec![HUGE, 3], dtype: DType::F32 };
    too_large(cases, [(spread, "scalar")]);
}

/// Adds cases of the result's gradient divided by the count: the division is rounded, and the count may be.
fn gradients(cases: &mut OpCases, dtype: DType) {
    cases.add(dtype, "the_gradient_is_divided_by_the_count", move |run| {
        spreads().try_for_each(|(shape, grad)| {
            let (op, g) = (MeanBackward { shape: shape.into(), dtype }, scalar(grad));
            let elements = shape.iter().product();
            let value = values(&g)[0] / count(elements);
            // A type without infinities has no edge beyond its largest number.
            if value.is_finite() && rounded(value, dtype).is_nan() {
                return run.exact(op, &[&g], [(dtype, vec![value; elements])]);
            }
            let wanted = vec![Expected::near(value, 3.0 * value.abs()); elements];
            run.near(op, &[&g], [(dtype, wanted)])
        })
    });
}

fn near(run: &mut OpRun<'_>, input: &Stored) -> Verdict {
    run.near(Mean, &[input], [(DType::F32, vec![mean(&values(input))])])
}

/// Sums that are exact in `f32`, so that only the division may round.
fn exact_sums(cases: &mut OpCases, dtype: DType) {
    let mut add = |sentence: &str, element: f64, count: usize| {
        cases.add(dtype, sentence, move |run| {
            let input = Stored::vector(dtype, vec![element; count]);
            let got = run.result(&Mean, &[&input], (DType::F32, 1))?;
            run.check.within(Agreement::Ulps(3), &[&input], &got, &[Expected::exactly(element)])
        });
    };
    add("the_mean_of_seventy_thousand_ones_is_one", 1.0, 70_000);
    add("a_sum_beyond_the_format_still_has_a_mean", 57344.0, 1000);
}

fn random(cases: &mut OpCases, dtype: DType) {
    for length in [1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4097, 65537] {
        cases.add(dtype, format!("random_{length}"), move |run| {
            let mut draw = Draw::new(length);
            let values: Vec<f64> = (0..length).map(|_| draw.within(-1.0, 3.0)).collect();
            near(run, &Stored::vector(dtype, values))
        });
    }
}

fn classes(cases: &mut OpCases, dtype: DType) {
    cases.starts(dtype, move |run, _, length| near(run, &ones(dtype, &[length])));
    cases.add(dtype, "every_nan_and_infinity_shows", move |run| {
        let one = |code| near(run, &Stored::code_vector(dtype, [1, code, 2]));
        not_finite(dtype).into_iter().try_for_each(one)
    });
    cases.add(dtype, "zeros_of_any_length_have_a_mean_of_zero", move |run| {
        (1..10).try_for_each(|length| {
            let zeros = Stored::vector(dtype, vec![0.0; length]);
            run.exact(Mean, &[&zeros], [(DType::F32, vec![0.0])])
        })
    });
    cases
        .add(dtype, "the_mean_of_nothing_is_nan", move |run| near(run, &Stored::vector(dtype, [])));
    cases.add(dtype, "a_nan_or_an_infinity_shows", move |run| {
        for bad in NON_FINITE {
            near(run, &Stored::vector(dtype, [1.0, bad, 3.0]))?;
            near(run, &Stored::vector(dtype, [1.0, 2.0, bad]))?;
        }
        Ok(())
    });
}

// The oracle.

/// The sum over the count: NaN for no values. The mass is the sum's, over the count too, and leaves room for the
/// roundings of the division.
pub(super) fn mean(values: &[f64]) -> Expected {
    let total = sum(values);
    let n = count(values.len());
    let value = total.value / n;
    Expected { mass: total.mass / n + 4.0 * value.abs(), ..Expected::exactly(value) }
}
