//! Sparse gradients: repeated coordinates are added before anything is looked at.
//!
//! The oracle adds rows of one coordinate in `f32`, in the order in which they are listed.

use super::cast::rounded;
use super::prelude::*;
use super::unscale::{Set, same};
use crate::{CoalesceType, Coordinates};
use binade_grad_scaler::ScaleState;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        sums(cases, dtype);
        overflows(cases, dtype);
        shapes(cases, dtype);
        refusals(cases, dtype);
    }
    let sentence = "element_types_may_differ_within_a_set";
    cases.add("mixed", sentence, |s: &S, check| {
        let rows = |dtype| column(dtype, &[1, 0, 1], &[1.0, 2.0, 3.0]);
        let set: Vec<_> = ["a", "b", "c"].into_iter().zip(FLOATS.map(rows)).collect();
        by(s, check, &set, ScaleState::from_exponent(3))
    });
}

/// Four rows of one element, of which `at` lists some.
fn column(dtype: DType, at: &[usize], values: &[f64]) -> Coordinates {
    Coordinates {
        shape: vec![4],
        width: 1,
        indices: vec![at.to_vec()],
        values: Stored::vector(dtype, values.iter().copied()),
        coalesce: CoalesceType::InF32,
    }
}

fn in_own_type(rows: Coordinates) -> Coordinates {
    Coordinates { coalesce: CoalesceType::InOwnType, ..rows }
}

/// Unscales a set, and compares what was found and every element with those of the whole gradients.
fn by<S: Backend>(
    s: &S,
    check: &mut Check,
    set: &[(&'static str, Coordinates)],
    state: ScaleState,
) -> Verdict {
    let given = set.iter().map(|(name, grad)| Named::new(*name, grad.clone())).collect();
    let dense: Set = set.iter().map(|(name, grad)| (*name, Some(whole(grad)))).collect();
    same(s, check, &dense, state, &s.sparse(given, state)?)
}

fn one<S: Backend>(s: &S, check: &mut Check, grad: Coordinates, exponent: i32) -> Verdict {
    by(s, check, &[("w", grad)], ScaleState::from_exponent(exponent))
}

/// From where on, in this type, adding one changes nothing.
fn full(dtype: DType) -> f64 {
    match dtype {
        DType::BF16 => 256.0,
        DType::F16 => 2048.0,
        _ => 16_777_216.0,
    }
}

fn sums<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let large = full(dtype);
    // Three ones between others, of which two are another row's.
    let rows = column(dtype, &[2, 2, 0, 2, 0, 2], &[large, 1.0, -1.0, 1.0, 5.0, 1.0]);
    let mut add = |sentence: &str, rows: Coordinates| {
        cases.add(dtype, sentence, move |s: &S, check| {
            [0, 8].into_iter().try_for_each(|exponent| one(s, check, rows.clone(), exponent))
        });
    };
    add("rows_of_one_coordinate_are_added_in_f32", rows.clone());
    // 2048 + 1 + 1 is 2050; added in f16 it stays 2048.
    add("in_their_own_type_a_sum_is_rounded_once", in_own_type(rows));
    // What is added first counts: in f32 2^24 takes no one.
    let order = column(DType::F32, &[1, 1, 1], &[1.0, full(DType::F32), -full(DType::F32)]);
    if dtype == DType::F32 {
        add("rows_are_added_in_the_order_they_are_listed", order);
    }
}

/// Finite in every row, and not in their sum; and what is not finite in a row.
fn overflows<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let largest = if dtype == DType::F16 { 64000.0 } else { 3e38 };
    let twice = column(dtype, &[3, 1, 3], &[largest, 2.0, largest]);
    let sentence = "duplicates_that_overflow_when_they_are_added_are_found";
    let added = in_own_type(twice.clone());
    cases.add(dtype, sentence, move |s: &S, check| one(s, check, added.clone(), 4));
    if dtype == DType::F16 {
        let sentence = "a_sum_beyond_f16_that_f32_holds_is_no_overflow";
        cases.add(dtype, sentence, move |s: &S, check| one(s, check, twice.clone(), 4));
    } else {
        let sentence = "duplicates_that_overflow_f32_are_found_wherever_they_are_added";
        cases.add(dtype, sentence, move |s: &S, check| one(s, check, twice.clone(), 4));
    }
    let sentence = "an_infinity_or_a_nan_among_duplicates_is_not_lost";
    cases.add(dtype, sentence, move |s: &S, check| {
        for code in not_finite(dtype) {
            let [one_, inf] = [1.0, f64::INFINITY].map(|x| super::cast::round(x, dtype));
            for codes in [[one_, code, one_], [code, one_, inf], [inf, one_, code]] {
                let values = Stored::from_codes(dtype, &[3], codes);
                one(s, check, Coordinates { values, ..column(dtype, &[2, 2, 2], &[]) }, 2)?;
            }
        }
        Ok(())
    });
    let sentence = "a_diverged_scale_halts_finite_rows";
    cases.add(dtype, sentence, move |s: &S, check| {
        let state = ScaleState { diverged: true, ..ScaleState::from_exponent(3) };
        by(s, check, &[("w", column(dtype, &[0, 0], &[1.0, 2.0]))], state)
    });
}

fn shapes<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, rows: Coordinates| {
        cases.add(dtype, sentence, move |s: &S, check| one(s, check, rows.clone(), 5));
    };
    add("no_entry_at_all_is_a_gradient_of_zeros", column(dtype, &[], &[]));
    let unlisted = Coordinates {
        shape: vec![3, 2],
        width: 3,
        indices: vec![vec![2, 0, 2], vec![1, 1, 1]],
        values: Stored::vector(dtype, (1..10).map(f64::from)),
        coalesce: CoalesceType::InF32,
    };
    add("rows_no_coordinate_lists_are_zeros_and_the_last_dimension_runs_fastest", unlisted);
    let mut draw = Draw::new(31);
    let mut index = |size: u64| usize::try_from(draw.bits() % size).unwrap_or_default();
    let indices = vec![(0..600).map(|_| index(7)).collect(), (0..600).map(|_| index(11)).collect()];
    let many = Coordinates {
        shape: vec![7, 11],
        width: 5,
        indices,
        values: Stored::vector(dtype, finite(32, 3000, dtype, [-8.0, 8.0])),
        coalesce: CoalesceType::InF32,
    };
    add("six_hundred_entries_of_77_rows", many.clone());
    add("six_hundred_entries_in_their_own_type", in_own_type(many));
}

/// Coordinates that make no gradient.
fn refusals<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let fits = || column(dtype, &[0, 1], &[1.0, 2.0]);
    let wrong = [
        (
            "an_index_beyond_its_dimension_is_an_invalid_argument",
            column(dtype, &[0, 4], &[1.0, 2.0]),
            ErrorKind::InvalidArgument,
        ),
        (
            "a_dimension_without_indices_is_a_mismatch",
            Coordinates { shape: vec![4, 2], ..fits() },
            ErrorKind::Mismatch,
        ),
        (
            "another_number_of_values_than_entries_take_is_a_mismatch",
            Coordinates { width: 2, ..fits() },
            ErrorKind::Mismatch,
        ),
    ];
    for (sentence, grad, kind) in wrong {
        cases.add(dtype, sentence, move |s: &S, check| {
            let got = s.sparse(vec![Named::new("w", grad.clone())], ScaleState::from_exponent(0));
            check.rejected(&grad, got.map_err(CaseError::from), kind)
        });
    }
}

// The oracle.

/// Every element of the gradient in `f32`, zeros where no row is.
fn whole(rows: &Coordinates) -> Stored {
    let Coordinates { shape, width, indices, values, coalesce } = rows;
    let terms: Vec<f64> = values.values().collect();
    let mut sums: Vec<Option<f64>> = vec![None; shape.iter().product::<usize>() * width];
    for entry in 0..indices.first().map_or(0, Vec::len) {
        // The last dimension runs fastest.
        let row = shape.iter().zip(indices).fold(0, |row, (size, at)| row * size + at[entry]);
        for column in 0..*width {
            let x = terms[entry * width + column];
            let sum = &mut sums[row * width + column];
            *sum = Some(sum.map_or(x, |sum| rounded(sum + x, DType::F32)));
        }
    }
    let last = match coalesce {
        CoalesceType::InF32 => DType::F32,
        CoalesceType::InOwnType => values.dtype,
    };
    let sums = sums.into_iter().map(|sum| rounded(sum.unwrap_or(0.0), last));
    Stored::from_values(DType::F32, &[&shape[..], &[*width]].concat(), sums)
}
