//! Scales predicted from the largest gradients, in fixed point.
//!
//! The oracle follows the documentation of `LogMax`, sentence by sentence, with whole numbers of 128 bits and the logarithm of `f64`.

use super::{Dropped, Good, Saw, Skip, one, run, through};
use crate::cases::values::Draw;
use crate::{Backend, Cases, Check, IterationFindings, PassFinding, Verdict};
use binade_grad_scaler::{LogMax, LossScale, ScaleState, UpdateInputs};

pub(super) fn add_cases<S: Backend>(cases: &mut Cases<S>) {
    alone(cases);
    together(cases);
    limits(cases);
    at_random(cases);
}

/// `OpenSeq2Seq`'s numbers.
const NUMBERS: LogMax =
    LogMax { ceiling_exponent: 16, deviations: 202_506, weight: 167_772, slow_weight: 16_777 };

/// Returns the library's rule.
fn library() -> LossScale {
    let mut rule = LossScale::dynamic();
    (rule.init_exponent, rule.growth_exponent, rule.backoff_exponent) = (0, 0, 0);
    rule.log_max = Some(NUMBERS);
    rule
}

/// Returns a rule without limits of its own.
fn open() -> LossScale {
    let mut rule = library();
    (rule.init_exponent, rule.min_exponent, rule.max_exponent, rule.patience) =
        (16, -126, 126, 1000);
    rule
}

fn alone<S: Backend>(cases: &mut Cases<S>) {
    let powers = [1.0, 4.0, 0.5, 2.0, 1024.0, 1.0].map(|x| (Good, x)).to_vec();
    through(cases, "the_scale_leaves_room_for_the_largest_gradients_so_far", open(), powers);
    let zeros = [0.0, 0.0, 3.0, 0.0, 0.25, 0.0].map(|x| (Good, x)).to_vec();
    through(cases, "gradients_that_are_all_zero_tell_nothing", open(), zeros);
    let overflows = vec![(Good, 2.0), (Skip, 3.0), (Dropped, 1e30), (Good, 2.0), (Skip, 0.0)];
    through(cases, "an_overflow_counts_as_the_ceiling_whatever_is_beside_it", open(), overflows);
    let mut grows = open();
    (grows.growth_exponent, grows.backoff_exponent, grows.growth_interval) = (3, 5, 1);
    let mixed = vec![(Good, 0.0), (Good, 1.0), (Skip, 1.0), (Good, 7.0)];
    through(cases, "growth_and_backoff_move_nothing_where_the_scale_is_predicted", grows, mixed);

    let sentence = "the_logarithm_of_any_gradient_is_rounded_down";
    cases.add("-", sentence, |s: &S, check| {
        let (rule, mut draw) = (open(), Draw::new(12));
        let edges = [1, 2, 3, 0x007f_ffff, 0x0080_0000, 0x0080_0001, 0x3f80_0001, 0x7f7f_ffff];
        let drawn = (0..200).map(|_| draw.bits() % 0x7f80_0000);
        for bits in edges.into_iter().chain(drawn) {
            let magnitude = f32::from_bits(u32::try_from(bits).unwrap_or_default());
            one(s, check, &rule, rule.start(), &Good.with(magnitude))?;
        }
        Ok(())
    });
    let sentence = "what_is_learned_is_the_gradient_without_its_scale";
    cases.add("-", sentence, |s: &S, check| {
        let scales = [3.0e4, 1e-3, 1.0, 65536.0, 1.999_999_9];
        for state in scales.into_iter().filter_map(ScaleState::import) {
            run(s, check, &open(), state, &[(Good, 5.0), (Skip, 1.0), (Good, 0.1)])?;
        }
        Ok(())
    });
}

fn together<S: Backend>(cases: &mut Cases<S>) {
    let sentence = "the_largest_gradient_of_all_parts_and_verdicts_counts";
    cases.add("-", sentence, |s: &S, check| -> Verdict {
        for place in 0..5 {
            let pass = |n: usize| PassFinding {
                raised: false,
                magnitude: if n == place { 48.0 } else { 0.75 },
            };
            let round = IterationFindings {
                parts: [0, 1, 2].map(pass).to_vec(),
                verdicts: [3, 4].map(pass).to_vec(),
            };
            one(s, check, &open(), open().start(), &round)?;
        }
        Ok(())
    });
}

fn limits<S: Backend>(cases: &mut Cases<S>) {
    let rule = library();
    let far = [1e-30, 1e-30, 3e38, 3e38, 1e-30].map(|x| (Good, x)).to_vec();
    through(cases, "a_prediction_stays_within_the_limits", rule, far);
    let end = vec![(Good, 1.0), (Good, 3e38), (Skip, 1.0), (Good, 1.0)];
    through(cases, "an_overflow_at_the_lowest_prediction_is_divergence", rule, end);
    let mut none = open();
    none.log_max = Some(LogMax { weight: 0, slow_weight: 0, ..NUMBERS });
    through(cases, "a_weight_of_zero_predicts_nothing", none, vec![(Good, 9.0), (Skip, 1.0)]);
    let mut all = open();
    all.log_max = Some(LogMax { weight: u32::MAX, slow_weight: 1 << 24, ..NUMBERS });
    let seen = [3.0, 0.1, 700.0].map(|x| (Good, x)).to_vec();
    through(cases, "a_weight_above_one_is_as_one", all, seen);
}

fn at_random<S: Backend>(cases: &mut Cases<S>) {
    let sentence = "averages_are_kept_in_fixed_point_through_a_thousand_updates";
    cases.add("-", sentence, |s: &S, check| drifts(s, check, &open(), &mut Draw::new(13), 1000));
    cases.add("-", "every_rule_of_prediction_is_kept_to_the_bit", |s: &S, check| {
        let mut draw = Draw::new(14);
        (0..20).try_for_each(|_| {
            let mut rule = open();
            rule.log_max = Some(drawn(&mut draw));
            drifts(s, check, &rule, &mut draw, 20)
        })
    });
}

fn drifts<S: Backend>(
    s: &S,
    check: &mut Check,
    rule: &LossScale,
    draw: &mut Draw,
    updates: usize,
) -> Verdict {
    (0..updates)
        .try_fold(rule.start(), |state, _| {
            let round = Saw::any(draw).with(any(draw));
            one(s, check, rule, state, &round)
        })
        .map(drop)
}

/// Draws a magnitude in one of forty binades.
#[expect(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn any(draw: &mut Draw) -> f32 {
    draw.spread(-20.0, 20.0).abs() as f32
}

fn drawn(draw: &mut Draw) -> LogMax {
    let mut below = |most: u64| u32::try_from(draw.bits() % most).unwrap_or(u32::MAX);
    LogMax {
        ceiling_exponent: below(60).cast_signed() - 20,
        deviations: below(1 << 19),
        weight: below(1 << 25),
        slow_weight: below(1 << 20),
    }
}

// The oracle.

/// Fractions of logarithms, of means, and of weights.
const LOG: i128 = 1 << 20;
const MEAN: i128 = 1 << 28;
const ONE: i128 = 1 << 24;

/// Updates the averages of `new` by the inputs `seen`.
pub(super) fn learn(rule: &LogMax, new: &mut ScaleState, seen: UpdateInputs) {
    // "An overflow counts as `x = ceiling`; an iteration whose gradients are all zero tells nothing."
    let x = if seen.overflow {
        i128::from(rule.ceiling_exponent) * LOG
    } else if seen.magnitude > 0.0 {
        let scale = i128::from(new.before) * LOG + logarithm(new.significand);
        logarithm(seen.magnitude) - scale
    } else {
        return;
    };
    let (fast, slow) = (weight(rule.weight), weight(rule.slow_weight));
    let averages = &mut new.averages;
    averages.mean = kept(moved(averages.mean.into(), x * (MEAN / LOG), fast));
    averages.slow_mean = kept(moved(averages.slow_mean.into(), x * (MEAN / LOG), slow));
    // "Of `x * x >> 20`".
    averages.square = kept(moved(averages.square.into(), (x * x).div_euclid(LOG), slow));
    averages.taken = count(moved(averages.taken.into(), ONE, fast));
    averages.slow_taken = count(moved(averages.slow_taken.into(), ONE, slow));
}

/// Returns the exponent that leaves the requested room, if any input was seen.
pub(super) fn exponent(rule: &LogMax, new: &ScaleState) -> Option<i64> {
    let seen = new.averages;
    if seen.taken == 0 || seen.slow_taken == 0 {
        return None;
    }
    // "Over the weights taken in, rounded towards zero; of the means then 2^-20, rounded down."
    let corrected = |average: i64, taken: u32| i128::from(average) * ONE / i128::from(taken);
    let mean = corrected(seen.mean, seen.taken).div_euclid(MEAN / LOG);
    let slow = corrected(seen.slow_mean, seen.slow_taken).div_euclid(MEAN / LOG);
    let variance = corrected(seen.square, seen.slow_taken) - (slow * slow).div_euclid(LOG);
    let deviation = (variance.max(0) * LOG).isqrt();
    let room = (deviation * i128::from(rule.deviations)).div_euclid(1 << 16);
    i64::try_from((i128::from(rule.ceiling_exponent) * LOG - mean - room).div_euclid(LOG)).ok()
}

/// "By its weight times what it lacks, rounded to nearest, halves up."
fn moved(average: i128, to: i128, weight: i128) -> i128 {
    average + (2 * (to - average) * weight + ONE).div_euclid(2 * ONE)
}

/// "Above 1 is as 1."
fn weight(weight: u32) -> i128 {
    i128::from(weight).min(ONE)
}

/// Converts an average, which fits for gradients.
fn kept(average: i128) -> i64 {
    i64::try_from(average).unwrap_or(i64::MAX)
}

fn count(taken: i128) -> u32 {
    u32::try_from(taken).unwrap_or(u32::MAX)
}

/// Returns the binary logarithm in units of 2^-20, rounded down. Every f32 number is normal in f64, whose precision separates a logarithm from the
/// next multiple of 2^-20, at a distance of about 2^-43 or more.
#[expect(clippy::cast_possible_truncation, reason = "within 2^28 of 0")]
fn logarithm(value: f32) -> i128 {
    (f64::from(value).log2() * 2.0_f64.powi(20)).floor() as i128
}
