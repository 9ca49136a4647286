//! `LogMax` in fixed point, sentence by sentence of its documentation: whole numbers of 128 bits, and the logarithm of f64.

use binade_grad_scaler::{LogMax, ScaleState, Seen};

/// Fractions of logarithms, of means, and of weights.
const LOG: i128 = 1 << 20;
const MEAN: i128 = 1 << 28;
const ONE: i128 = 1 << 24;

/// Takes what was seen into the averages of `new`.
pub(super) fn learn(rule: &LogMax, new: &mut ScaleState, seen: Seen) {
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

/// The exponent that leaves the room asked for, if anything was seen.
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
    let deviation = root(variance.max(0) * LOG);
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

/// Averages of gradients fit.
fn kept(average: i128) -> i64 {
    i64::try_from(average).unwrap_or(i64::MAX)
}

fn count(taken: i128) -> u32 {
    u32::try_from(taken).unwrap_or(u32::MAX)
}

/// In 2^-20, rounded down. An f64 holds every number of f32 as a normal one, and can tell a logarithm from the next
/// multiple of 2^-20, which is 2^-43 or so away at least.
fn logarithm(value: f32) -> i128 {
    let bits = f64::from(value).to_bits();
    let exponent = i128::from(bits >> 52 & 0x7ff) - 1023;
    let significand = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    #[expect(clippy::cast_possible_truncation, reason = "from 0 to 2^20")]
    let fraction = (significand.log2() * 2.0_f64.powi(20)).floor() as i128;
    exponent * LOG + fraction
}

/// The square root, rounded down, by bisection.
fn root(square: i128) -> i128 {
    let (mut low, mut high) = (0_i128, 1 << 62);
    while high - low > 1 {
        let middle = i128::midpoint(low, high);
        if middle * middle <= square {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
