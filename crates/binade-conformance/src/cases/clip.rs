//! Clipping: gradients are multiplied by one factor or limited element by element, and otherwise unchanged.
//!
//! The oracle writes out each rounding.

use super::cast::rounded;
use super::norm::norm;
use super::prelude::*;
use super::unscale::{self, Set, offender, same_grads, told, unscale, upload, views};
use crate::Clip;
use binade_grad_scaler::{Norm, ScaleState};

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    for dtype in FLOATS {
        norms(cases, dtype);
        lengths(cases, dtype);
        limits(cases, dtype);
        units(cases, dtype);
        starts(cases, dtype);
        findings(cases, dtype);
        refusals(cases, dtype);
    }
}

const EXACTLY: Option<Agreement> = Some(Agreement::Bits);

/// The scale of most sets.
const SCALE: fn() -> ScaleState = || ScaleState::from_exponent(10);

/// Clips a set that is scaled by 2^10 and compares every gradient bit by bit: every arithmetic computes these norms exactly.
fn by<S: Backend>(s: &S, check: &mut Check, set: &Set, clip: Clip) -> Verdict {
    of(s, check, set, EXACTLY, (SCALE(), clip)).map(drop)
}

/// Clips a set, compares every gradient, and returns the found-inf result.
fn of<S: Backend>(
    s: &S,
    check: &mut Check,
    set: &Set,
    given: Option<Agreement>,
    (state, clip): (ScaleState, Clip),
) -> Result<FoundInf, CaseError> {
    let (unscaled, _) = unscale(set, state);
    let got = s.clip(upload(s, set)?, state, clip)?;
    same_grads(s, check, (set, &got.grads), &clip_grads(&unscaled, clip), given)?;
    Ok(got.found)
}

/// Returns a set with one gradient of these unscaled values.
fn one(dtype: DType, values: impl IntoIterator<Item = f64>) -> Set {
    unscale::one(Stored::vector(dtype, values.into_iter().map(|x| x * 1024.0)))
}

/// Adds cases of norms of 3 and 4, of 1, 2 and 2, and of 2, 4, 5 and 6: whole numbers, which no arithmetic rounds.
fn norms<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, set: Set, limits: &'static [f32], which: Norm| {
        cases.add(dtype, sentence, move |s: &S, check| {
            let each = |max: &f32| by(s, check, &set, Clip::Norm(which, *max));
            limits.iter().try_for_each(each)
        });
    };
    let whole = || one(dtype, [2.0, -4.0, 5.0, 6.0, 0.0, -0.0]);
    add("a_norm_within_the_limit_keeps_every_bit", whole(), &[9.0, 9.5, 1e30], Norm::L2);
    add("elements_within_the_limit_keep_every_bit", whole(), &[6.0, 6.5, 1e30], Norm::Infinity);
    let sentence = "a_norm_beyond_the_limit_is_multiplied_by_max_over_norm_rounded_once";
    add(sentence, whole(), &[1.0, 0.1, 7.0, 1e-10], Norm::L2);
    let sentence = "a_largest_beyond_the_limit_is_multiplied_by_max_over_it_rounded_once";
    add(sentence, whole(), &[1.0, 0.1, 5.0, 1e-10], Norm::Infinity);
    let mut set = one(dtype, [1.0, 2.0]);
    set.extend([("b", None), ("c", one(dtype, [-2.0]).swap_remove(0).1)]);
    add("all_parameters_share_one_factor", set, &[1.0, 0.7], Norm::L2);
    cases.add(dtype, "a_limit_just_below_the_norm_clips", move |s: &S, check| {
        let clip = Clip::Norm(Norm::L2, 5.0_f32.next_down());
        by(s, check, &one(dtype, [3.0, 4.0]), clip)
    });
}

fn lengths<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.lengths(dtype, LENGTHS.into_iter().chain([LONG[2]]), move |s: &S, check, length| {
        let set = one(dtype, finite(length, length, dtype, [-4.0, 4.0]));
        by(s, check, &set, Clip::Norm(Norm::Infinity, 0.7))?;
        by(s, check, &set, Clip::Value(0.7))?;
        of(s, check, &set, None, (SCALE(), Clip::Norm(Norm::L2, 0.7))).map(drop)
    });
}

fn limits<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let mut add = |sentence: &str, values: Vec<f64>, max: f32| {
        cases.add(dtype, sentence, move |s: &S, check| {
            by(s, check, &one(dtype, values.clone()), Clip::Value(max))
        });
    };
    let mut draw = Draw::new(31);
    let values: Vec<f64> = (0..257).map(|_| draw.within(-2.0, 2.0)).collect();
    add("clip_value_limits_on_both_sides", values, 1.0);
    add("clip_value_leaves_the_limit_itself_and_the_sign_of_zero", vec![1.0, -1.0, 0.0, -0.0], 1.0);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    add("clip_value_leaves_a_nan_a_nan", vec![nan, 2.0, nan, -2.0, nan], 1.0);
    add("clip_value_limits_infinities", vec![inf, -inf, 0.5], 1.0);
    cases.add(dtype, "clip_value_limits_all_that_is_awkward", move |s: &S, check| {
        let set = unscale::one(Stored::code_vector(dtype, awkward(dtype)));
        by(s, check, &set, Clip::Value(1.0))
    });
}

/// Adds cases of limits, which apply to unscaled gradients, whatever the scale.
fn units<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "the_limit_is_of_unscaled_gradients_whatever_the_scale";
    cases.add(dtype, sentence, move |s: &S, check| {
        for exponent in [-3, 0, 3, 10] {
            let scaled = [3.0, -4.0].map(|x| x * 2.0_f64.powi(exponent));
            let set = unscale::one(Stored::vector(dtype, scaled));
            let state = ScaleState::from_exponent(exponent);
            for max in [0.5, 5.0, 30.0] {
                for clip in [Clip::Norm(Norm::L2, max), Clip::Value(max)] {
                    of(s, check, &set, EXACTLY, (state, clip))?;
                }
            }
        }
        Ok(())
    });
}

fn starts<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    cases.views(dtype, move |s: &S, check, layout, length| {
        let set = views(one(dtype, finite(length, length, dtype, [-4.0, 4.0])), layout);
        let clips = [Clip::Norm(Norm::Infinity, 0.7), Clip::Value(0.7)];
        clips.into_iter().try_for_each(|clip| by(s, check, &set, clip))
    });
}

/// Adds cases of found-inf results after a clip: they keep those of the unscale pass, and add a norm that is not finite in `f32` if that pass found
/// nothing.
fn findings<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let runs = [
        ("a: 1 2; b: 0.5 nan -inf inf 4; c", 10, false),
        ("a: 3 -4 -inf", 0, true),
        ("a: 3 -4; b", 3, true),
        // More than twice the largest power of two that f32 holds.
        ("a: 1; b: 32768 32768 32768 32768 32768", -112, false),
    ];
    let sentence = "all_that_a_pass_found_is_told_beside_the_norm";
    cases.add(dtype, sentence, move |s: &S, check| {
        for (words, exponent, diverged) in runs {
            let set = &unscale::set(dtype, 1.0, words);
            let state = ScaleState { diverged, ..ScaleState::from_exponent(exponent) };
            let (unscaled, found) = unscale(set, state);
            for which in [Norm::L2, Norm::Infinity] {
                let (mut wanted, norm) =
                    (found.clone(), rounded(norm(which, &unscaled), DType::F32));
                if !norm.is_finite() {
                    let raised = || offender(FoundInf::NORM, 0, [norm; 2]);
                    wanted.overflow.get_or_insert_with(raised);
                }
                let got = of(s, check, set, EXACTLY, (state, Clip::Norm(which, 1.0)))?;
                check.equal((set, which), told(&got), told(&wanted))?;
            }
        }
        Ok(())
    });
}

fn refusals<S: Backend>(cases: &mut Cases<S>, dtype: DType) {
    let sentence = "a_limit_that_is_no_positive_number_is_an_invalid_argument";
    cases.add(dtype, sentence, move |s: &S, check| {
        let set = one(dtype, [3.0, -4.0]);
        for max in [0.0, -0.0, -1.0, f32::NEG_INFINITY, f32::NAN] {
            let norms = [Norm::L2, Norm::Infinity].map(|which| Clip::Norm(which, max));
            for clip in norms.into_iter().chain([Clip::Value(max)]) {
                let got = s.clip(upload(s, &set)?, SCALE(), clip).map_err(CaseError::from);
                check.rejected((&set, clip), got, ErrorKind::InvalidArgument)?;
            }
        }
        Ok(())
    });
}

// The oracle.

/// Returns unscaled gradients, clipped.
pub(super) fn clip_grads(grads: &[Option<Vec<f64>>], clip: Clip) -> Vec<Option<Vec<f64>>> {
    let each = |f: &dyn Fn(f64) -> f64| {
        let one = |grad: &Option<Vec<f64>>| Some(grad.as_ref()?.iter().map(|x| f(*x)).collect());
        grads.iter().map(one).collect()
    };
    match clip {
        Clip::Norm(which, max) => {
            let factor = norm_factor(norm(which, grads), max);
            each(&|x| by_norm(x, factor))
        }
        Clip::Value(max) => each(&|x| by_value(x, max)),
    }
}

/// Returns the factor for gradients of this norm: "`max / norm`, rounded once to `f32`, where the norm exceeds `max`, and by
/// nothing otherwise".
pub(super) fn norm_factor(norm: f64, max: f32) -> f64 {
    if norm > f64::from(max) { rounded(f64::from(max) / norm, DType::F32) } else { 1.0 }
}

/// Returns an unscaled gradient times the factor.
pub(super) fn by_norm(unscaled: f64, factor: f64) -> f64 {
    rounded(unscaled * factor, DType::F32)
}

/// Returns an unscaled gradient limited to `[-max, max]`: "leaves NaN a NaN".
fn by_value(unscaled: f64, max: f32) -> f64 {
    let max = f64::from(max);
    if unscaled > max {
        max
    } else if unscaled < -max {
        -max
    } else {
        unscaled
    }
}
