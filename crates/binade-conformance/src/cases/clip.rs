//! Clipping: shrunk by one factor or limited one by one, and otherwise left alone.

use super::unscale::{Set, factor, same_names, upload, values};
use super::values::{Draw, finite};
use super::{FLOATS, LENGTHS, LONG, get};
use crate::oracle::{clip, norm::norm, unscale::unscale};
use crate::{Check, Clip, Operation, Stored, Subject, Suite, Verdict, Wanted};
use binade_core::DType;
use binade_grad_scaler::{Norm, ScaleState};

pub(super) fn add<S: Subject>(suite: &mut Suite<S>) {
    for dtype in FLOATS {
        norms(suite, dtype);
        lengths(suite, dtype);
        limits(suite, dtype);
    }
}

/// Whether every arithmetic finds this norm, so that bits can be asked for.
#[derive(Clone, Copy, PartialEq)]
enum Given {
    Exactly,
    Nearly,
}

/// Clips a set that is scaled by 2^10 and compares every gradient.
fn by<S: Subject>(s: &S, check: &mut Check, set: &Set, given: Given, clip: Clip) -> Verdict {
    let state = ScaleState::power_of_two(10);
    let (unscaled, _) = unscale(&values(set), factor(&state));
    let got = s.clip(upload(s, set)?, state, clip)?;
    same_names::<S>(check, set, &got.grads)?;
    let wanted = wanted(&unscaled, clip);
    for (((_, input), grad), wanted) in set.iter().zip(&got.grads).zip(wanted) {
        if let (Some(input), Some(grad), Some(wanted)) = (input, &grad.value, wanted) {
            let got = get(s, grad, DType::F32, &input.shape)?;
            match given {
                Given::Exactly => check.exact(&[input], &got, &wanted)?,
                Given::Nearly => {
                    let wanted: Vec<_> = wanted.into_iter().map(Wanted::exactly).collect();
                    check.tensor(&[input], &got, &wanted)?;
                }
            }
        }
    }
    Ok(())
}

/// Every gradient after clipping.
fn wanted(unscaled: &[Option<Vec<f64>>], clip: Clip) -> Vec<Option<Vec<f64>>> {
    let each = |f: &dyn Fn(f64) -> f64| {
        let one = |grad: &Option<Vec<f64>>| Some(grad.as_ref()?.iter().map(|x| f(*x)).collect());
        unscaled.iter().map(one).collect()
    };
    match clip {
        Clip::Norm(which, max) => {
            let factor = clip::factor(norm(which, unscaled), max);
            each(&|x| clip::by_norm(x, factor))
        }
        Clip::Value(max) => each(&|x| clip::by_value(x, max)),
    }
}

/// Values as they are once unscaled.
fn one(dtype: DType, values: impl IntoIterator<Item = f64>) -> Set {
    vec![("w", Some(Stored::vector(dtype, values.into_iter().map(|x| x * 1024.0))))]
}

/// The next number of `f32` below a positive one.
fn below(x: f32) -> f32 {
    f32::from_bits(x.to_bits() - 1)
}

/// Norms of whole numbers, which no arithmetic rounds: of 3 and 4, of 1, 2 and 2, and of 2, 4, 5 and 6.
fn norms<S: Subject>(suite: &mut Suite<S>, dtype: DType) {
    let mut add = |sentence: &str, set: Set, limits: &'static [f32], which: Norm| {
        suite.add(Operation::Clip, dtype, sentence, move |s: &S, check| {
            let each = |max: &f32| by(s, check, &set, Given::Exactly, Clip::Norm(which, *max));
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
    suite.add(Operation::Clip, dtype, "a_limit_just_below_the_norm_clips", move |s: &S, check| {
        let clip = Clip::Norm(Norm::L2, below(5.0));
        by(s, check, &one(dtype, [3.0, 4.0]), Given::Exactly, clip)
    });
}

fn lengths<S: Subject>(suite: &mut Suite<S>, dtype: DType) {
    for length in LENGTHS.into_iter().chain([LONG[2]]) {
        let sentence = format!("all_of_{length}_elements");
        suite.add(Operation::Clip, dtype, sentence, move |s: &S, check| {
            let set = one(dtype, finite(length, length, dtype, [-4.0, 4.0]));
            by(s, check, &set, Given::Exactly, Clip::Norm(Norm::Infinity, 0.7))?;
            by(s, check, &set, Given::Exactly, Clip::Value(0.7))?;
            by(s, check, &set, Given::Nearly, Clip::Norm(Norm::L2, 0.7))
        });
    }
}

fn limits<S: Subject>(suite: &mut Suite<S>, dtype: DType) {
    let mut add = |sentence: &str, values: Vec<f64>, max: f32| {
        suite.add(Operation::Clip, dtype, sentence, move |s: &S, check| {
            by(s, check, &one(dtype, values.clone()), Given::Exactly, Clip::Value(max))
        });
    };
    let mut draw = Draw::new(31);
    let values: Vec<f64> = (0..257).map(|_| draw.within(-2.0, 2.0)).collect();
    add("clip_value_limits_on_both_sides", values, 1.0);
    add("clip_value_leaves_the_limit_itself_and_the_sign_of_zero", vec![1.0, -1.0, 0.0, -0.0], 1.0);
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    add("clip_value_leaves_a_nan_a_nan", vec![nan, 2.0, nan, -2.0, nan], 1.0);
    add("clip_value_limits_infinities", vec![inf, -inf, 0.5], 1.0);
}
