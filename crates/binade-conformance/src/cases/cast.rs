//! Casts: each element is rounded once, to nearest even, whatever its value and position.

pub(super) mod lanes;
mod oracle;

pub(super) use oracle::Format;
pub(crate) use oracle::{neighbours, round, rounded, ulp, value};

use super::prelude::*;
use super::training::calm;
use crate::TrainStep;
use binade_grad_scaler::ScaleState;
use binade_master_weights::UpdateRule;

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for from in FLOATS {
        for to in FLOATS {
            classes(cases, from, to);
            lengths(cases, from, to);
        }
    }
    for dtype in FLOATS {
        copies(cases, dtype);
    }
    for to in [DType::BF16, DType::F16] {
        roundings(cases, to);
    }
    lanes::narrowest(cases);
    lanes::add_cases(cases);
    if cases.arithmetic().f64 {
        doubles(cases);
    }
}

/// Adds a case of a cast to the tensor's own type, which is a copy: a step that changes it leaves the original unchanged.
fn copies<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_cast_to_the_own_type_is_a_copy";
    cases.add(format!("{dtype}-{dtype}"), sentence, move |s: &S, check| {
        let [input, grad, _] = calm([dtype, dtype], 33, 5);
        let tensor = put(s, &input)?;
        let copy = s.cast(&tensor, dtype)?;
        let grads = vec![Named::new("w", Some(put(s, &grad)?))];
        let (rule, scale) = (UpdateRule::sgd(1.0), ScaleState::from_exponent(10));
        let turn = TrainStep { rule, grads, scale, clip: None, beside: None };
        let moved = s.train(vec![Named::new("w", copy)], vec![turn])?;
        moved.iter().try_for_each(|param| s.to_bits(&param.value).map(drop))?;
        let values: Vec<f64> = input.values().collect();
        check.exact(&[&input], &get(s, &tensor, dtype, &input.shape)?, &values)
    });
}

/// Casts codes and compares each with its value rounded once.
fn cast<S: Backend>(s: &S, check: &mut Check, [from, to]: [DType; 2], codes: Vec<u64>) -> Verdict {
    of(s, check, &Stored::code_vector(from, codes), to)
}

fn of<S: Backend>(s: &S, check: &mut Check, input: &Stored, to: DType) -> Verdict {
    let got = get(s, &s.cast(&put(s, input)?, to)?, to, &input.shape)?;
    let wanted: Vec<f64> = input.values().collect();
    check.exact(&[input], &got, &wanted)
}

/// Casts values of `f32` of both signs.
fn cast_values<S: Backend>(
    s: &S,
    check: &mut Check,
    to: DType,
    values: impl IntoIterator<Item = f64>,
) -> Verdict {
    let both = values.into_iter().flat_map(|x| [x, -x]);
    cast(s, check, [DType::F32, to], both.map(|x| round(x, DType::F32)).collect())
}

/// Returns true if `to` determines the result of casting `x`. E4M3 has no infinity, and the caller chooses the result above 464.
pub(super) fn fits(x: f64, to: DType) -> bool {
    to != DType::E4M3 || x.is_nan() || x.abs() <= 464.0
}

fn classes<S: Backend>(cases: &mut Cases<S>, from: DType, to: DType) {
    let mut add = |sentence: &str, codes: Vec<u64>| {
        cases.add(format!("{from}-{to}"), sentence, move |s: &S, check| {
            cast(s, check, [from, to], codes.clone())
        });
    };
    add("every_nan_stays_a_nan", nans(from));
    add("infinities_keep_their_sign", infinities(from));
    add("zeros_ones_and_the_edges_of_the_format", edges(from));
    let mut draw = Draw::new(2);
    match from.bytes() {
        2 => add("every_pattern", (0..65536).collect()),
        _ => add("patterns_at_random", (0..20_000).map(|_| draw.code(from)).collect()),
    }
}

fn lengths<S: Backend>(cases: &mut Cases<S>, from: DType, to: DType) {
    let widest = from == DType::F32 || to == DType::F32;
    cases.lengths(
        format!("{from}-{to}"),
        LENGTHS.into_iter().chain(LONG).filter(|&length| widest || length < LONG[0]),
        move |s: &S, check, length| {
            let mut draw = Draw::new(length);
            let mut codes: Vec<u64> =
                (0..length).map(|_| round(draw.within(-2.0, 2.0), from)).collect();
            for (_, index) in places(length) {
                codes[index] = nans(from)[0];
            }
            cast(s, check, [from, to], codes)
        },
    );
    starts(cases, from, to);
}

/// Unaligned, and with strides.
fn starts<S: Backend>(cases: &mut Cases<S>, from: DType, to: DType) {
    cases.views(format!("{from}-{to}"), move |s: &S, check, layout, length| {
        let mut draw = Draw::new(length);
        let values = (0..length).map(|_| draw.within(-2.0, 2.0));
        of(s, check, &Stored::vector(from, values).view(layout), to)
    });
}

/// Adds cases of `f32` values between two numbers of a sixteen-bit format.
fn roundings<S: Backend>(cases: &mut Cases<S>, to: DType) {
    let mut add = |sentence: &str, values: fn(DType) -> Vec<f64>| {
        cases.add(format!("f32-{to}"), sentence, move |s: &S, check| {
            cast_values(s, check, to, values(to))
        });
    };
    add("a_tie_goes_to_the_even_neighbour", ties);
    add("next_to_a_tie_goes_to_the_nearer_neighbour", beside_ties);
    add("subnormals_are_kept", subnormals);
    add("below_half_the_smallest_is_zero_with_its_sign", tiny);
    add("overflow_begins_half_an_ulp_beyond_the_largest", overflow);
}

/// Returns each finite number of `to` above 0 with the one before it.
fn pairs(to: DType) -> impl Iterator<Item = [f64; 2]> {
    (1..infinity(to)).map(move |code| [value(code - 1, to), value(code, to)])
}

fn ties(to: DType) -> Vec<f64> {
    pairs(to).map(|[a, b]| a.midpoint(b)).collect()
}

fn beside_ties(to: DType) -> Vec<f64> {
    // Only some ties: a pattern that rounds wrongly beside one tie does so beside most.
    let beside = |[a, b]: [f64; 2]| around(a.midpoint(b));
    pairs(to).step_by(5).flat_map(beside).collect()
}

/// Returns the `f32` before `x` and the one after.
fn around(x: f64) -> [f64; 2] {
    let code = round(x, DType::F32);
    [code - 1, code + 1].map(|code| value(code, DType::F32))
}

/// Returns multiples of half the smallest number, up to the smallest normal one.
fn subnormals(to: DType) -> Vec<f64> {
    let count = if to == DType::F16 { 2048 } else { 256 };
    (1..count).map(|n| f64::from(n) * value(1, to) / 2.0).collect()
}

fn tiny(to: DType) -> Vec<f64> {
    [0.5, 0.4999, 0.25, 1e-3].map(|share| share * value(1, to)).to_vec()
}

fn overflow(to: DType) -> Vec<f64> {
    let [before, largest] = [2, 1].map(|steps| value(infinity(to) - steps, to));
    let edge = largest + (largest - before) / 2.0;
    let [below, above] = around(edge);
    vec![largest, below, edge, above, f64::from(f32::MAX)]
}

/// Adds cases of casts from and to `f64`, exact or rounded once. A cast from `f64` to sixteen bits is rounded once or refused, but not rounded to
/// `f32` first.
fn doubles<S: Backend>(cases: &mut Cases<S>) {
    cases.add("f32-f64", "patterns_at_random", |s: &S, check| {
        let mut draw = Draw::new(3);
        let codes = (0..4097).map(|_| draw.code(DType::F32)).collect();
        cast(s, check, [DType::F32, DType::F64], codes)
    });
    cases.add("f64-f32", "rounds_once", |s: &S, check| {
        cast(s, check, [DType::F64, DType::F32], beside_double_ties(-24))
    });
    for (to, half_ulp) in [(DType::BF16, -8), (DType::F16, -11)] {
        cases.add(format!("f64-{to}"), "rounds_once_or_is_refused", move |s: &S, check| {
            // A subject without any casts has not refused this one.
            cast(s, check, [DType::F64, DType::F32], vec![0])?;
            match cast(s, check, [DType::F64, to], beside_double_ties(half_ulp)) {
                Err(CaseError::Subject(SubjectError::Unsupported(_))) => {
                    // The refusal counts as the comparison.
                    check.compared += 1;
                    Ok(())
                }
                verdict => verdict,
            }
        });
    }
}

/// Returns doubles so close to a tie between two numbers beside 1 that they round to the tie in `f32`.
fn beside_double_ties(half_ulp: i32) -> Vec<u64> {
    let (tie, dust) = (2.0_f64.powi(half_ulp), 2.0_f64.powi(half_ulp - 27));
    let points = [1.0 + tie + dust, 1.0 + 3.0 * tie - dust, 1.0 + tie, 1.0 + 3.0 * tie];
    points.into_iter().flat_map(|x| [x, -x]).map(f64::to_bits).collect()
}
