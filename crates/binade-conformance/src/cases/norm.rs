//! Norms of all gradients together, computed in more than `f32`, in which every element that is not finite counts.
//!
//! The oracle adds the squares of all gradients together in `f64`.

use super::cast::rounded;
use super::prelude::*;
use super::unscale::{self, Set, mixed, unscale, upload, views};
use binade_grad_scaler::{Norm, ScaleState};

const BOTH: [Norm; 2] = [Norm::L2, Norm::Infinity];

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        lengths(cases, dtype);
        ranges(cases, dtype);
        sets(cases, dtype);
        classes(cases, dtype);
    }
    cases.add("mixed", "element_types_may_differ_within_a_set", |s: &S, check| {
        both(s, check, &mixed(), 10)
    });
    cases.add("-", "an_empty_set_has_a_norm_of_zero", |s: &S, check| both(s, check, &vec![], 16));
}

/// Measures both norms of a set that is scaled by 2^exponent.
fn both<S: Backend>(s: &S, check: &mut Check, set: &Set, exponent: i32) -> Verdict {
    BOTH.into_iter().try_for_each(|which| of(s, check, set, exponent, which))
}

/// Compares the norm (the largest element bit by bit), and the flag of the found-inf result.
fn of<S: Backend>(s: &S, check: &mut Check, set: &Set, exponent: i32, which: Norm) -> Verdict {
    let state = ScaleState::from_exponent(exponent);
    let (unscaled, found) = unscale(set, state);
    let wanted = norm(which, &unscaled);
    let got = s.norm(upload(s, set)?, state, which)?;
    let raised = found.is_raised() || !rounded(wanted, DType::F32).is_finite();
    let tell = |raised, measured| format!("raised {raised}, measured {measured}");
    check.equal(set, tell(got.is_raised(), got.norm.is_some()), tell(raised, true))?;
    let got = Stored::vector(DType::F32, got.norm.map(f64::from));
    let inputs: Vec<&Stored> = set.iter().filter_map(|(_, grad)| grad.as_ref()).collect();
    match which {
        Norm::L2 => check.tensor(&inputs, &got, &[Expected::exactly(wanted)]),
        Norm::Infinity => check.exact(&inputs, &got, &[wanted]),
    }
}

fn one(dtype: DType, values: impl IntoIterator<Item = f64>) -> Set {
    unscale::one(Stored::vector(dtype, values))
}

fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.lengths(dtype, LENGTHS.into_iter().chain(LONG), move |s: &S, check, length| {
        let values = finite(length, length, dtype, [-4.0, 4.0]);
        both(s, check, &one(dtype, values.clone()), 10)?;
        places(length).into_iter().try_for_each(|(_, index)| {
            let mut values = values.clone();
            values[index] = -2048.0;
            both(s, check, &one(dtype, values), 10)
        })
    });
    cases.views(dtype, move |s: &S, check, layout, length| {
        both(s, check, &views(one(dtype, finite(length, length, dtype, [-4.0, 4.0])), layout), 10)
    });
}

/// Adds cases of squares that `f32` would lose, and of norms beyond `f32`.
fn ranges<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, values: Vec<f64>, exponent: i32| {
        cases.add(dtype, sentence, move |s: &S, check| {
            both(s, check, &one(dtype, values.clone()), exponent)
        });
    };
    add("three_and_four_are_five", vec![3.0, -4.0], 3);
    // 2^83 is 1e25; its square and that of its inverse are beyond `f32`.
    let near_one = finite(5, 257, dtype, [-1.0, 1.0]);
    add("elements_of_1e25_do_not_overflow", near_one.clone(), -83);
    add("squares_of_1e_25_are_not_lost", near_one, 83);
    add("300007_equal_elements_keep_full_accuracy", vec![0.3; 300_007], 0);
    let largest = finite(6, 64, dtype, [14.0, 15.0]);
    add("a_norm_beyond_f32_is_infinite_and_raises_the_verdict", largest.clone(), -112);
    let sentence = "a_norm_beyond_f32_is_named_as_a_norm_and_counts_no_element";
    cases.add(dtype, sentence, move |s: &S, check| {
        let set = one(dtype, largest.clone());
        let found = s.norm(upload(s, &set)?, ScaleState::from_exponent(-112), Norm::L2)?;
        let name = found.overflow.as_ref().map(|overflow| overflow.parameter.to_string());
        let tell = |name: Option<&str>, counts| format!("{name:?}, counted {counts:?}");
        let got = tell(name.as_deref(), (found.infinities, found.nans));
        check.equal(&set, got, tell(Some(FoundInf::NORM), (0, 0)))
    });
}

/// Several parameters and missing gradients.
fn sets<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.add(dtype, "all_parameters_count_together", move |s: &S, check| {
        let grad =
            |seed, length| Some(Stored::vector(dtype, finite(seed, length, dtype, [-6.0, 6.0])));
        let set = vec![("a", grad(1, 33)), ("b", None), ("c", grad(2, 5000)), ("d", grad(3, 1))];
        both(s, check, &set, 8)
    });
    cases.add(dtype, "missing_gradients_alone_measure_zero", move |s: &S, check| {
        both(s, check, &unscale::set(dtype, 1.0, "a; b:"), 8)
    });
}

fn classes<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_nan_or_an_infinity_anywhere_shows_and_raises_the_verdict";
    cases.add(dtype, sentence, move |s: &S, check| {
        for length in [1, 9, 257, 4097] {
            for (_, index) in places(length) {
                for code in nans(dtype).into_iter().take(2).chain(infinities(dtype)) {
                    let mut codes: Vec<u64> = vec![1; length];
                    codes[index] = code;
                    let grad = Stored::code_vector(dtype, codes);
                    both(s, check, &unscale::one(grad), 10)?;
                }
            }
        }
        Ok(())
    });
    let sentence = "every_nan_and_infinity_shows_and_raises_the_verdict";
    cases.add(dtype, sentence, move |s: &S, check| {
        not_finite(dtype).into_iter().try_for_each(|code| {
            let grad = Stored::code_vector(dtype, [1, code, 2]);
            both(s, check, &unscale::one(grad), 10)
        })
    });
    let sentence = "a_nan_shows_beside_infinities_before_and_after_it";
    cases.add(dtype, sentence, move |s: &S, check| {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        both(s, check, &one(dtype, [1.0, inf, nan, -inf, 2.0]), 0)
    });
}

// The oracle.

/// The norm of unscaled gradients: NaN where one is NaN, else infinite where one is infinite.
pub(super) fn norm(which: Norm, grads: &[Option<Vec<f64>>]) -> f64 {
    let mut squares = 0.0;
    let mut largest = 0.0;
    let mut has_nan = false;
    for x in grads.iter().flatten().flatten() {
        squares += x * x;
        largest = f64::max(largest, x.abs());
        has_nan |= x.is_nan();
    }
    match which {
        _ if has_nan => f64::NAN,
        Norm::L2 => squares.sqrt(),
        Norm::Infinity => largest,
    }
}
