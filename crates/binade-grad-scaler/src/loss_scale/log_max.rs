//! The rule that predicts: a scale that leaves room for the largest gradient to come.

/// Scale predicted from the largest gradients so far, so that the next largest stays below `2^ceiling_exponent`.
///
/// `OpenSeq2Seq`'s `LogMaxScaler` (`automatic_loss_scaler.py`): with `x` the base-2 logarithm of an iteration's largest
/// |gradient|, its mean `m` and its standard deviation `s` estimated by exponential averages whose bias is corrected, the
/// scale is `2^(ceiling_exponent - (m + deviations * s))`. An overflow counts as `x = ceiling_exponent` (the library's own line has `2^ceiling`
/// there, which is no logarithm); an iteration whose gradients are all zero is ignored.
///
/// # Fixed point
///
/// Every device has the same bits, since all of it is integers:
///
/// * `x` is in 2^-20, rounded down: the gradient's logarithm less the scale's, which is its exponent plus the logarithm of
///   its significand.
/// * An average moves by its weight times what it lacks, rounded to nearest, halves up: the means in 2^-28, the mean of
///   `x * x >> 20` in 2^-20, and the weights taken in, which lack 1, in 2^-24.
/// * A corrected average is the average over the weights taken in, rounded towards zero; of the means then 2^-20, rounded
///   down.
/// * `s` is the root of the mean square less the mean's square (rounded down), or 0 where that is negative; rounded down.
/// * `deviations * s` is rounded down, and so is the exponent in the end: the scale is a power of two that leaves at least
///   as much room.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogMax {
    /// The exponent that the largest gradient is to stay below; 16 for `f16`, whose largest number is just below 2^16.
    #[cfg_attr(feature = "serde", serde(rename = "ceiling"))]
    pub ceiling_exponent: i32,
    /// Standard deviations of room above the mean, in 65536ths.
    pub deviations: u32,
    /// The weight of an iteration in the mean, in 2^-24; above 1 is as 1.
    pub weight: u32,
    /// Its weight in the averages that the deviation is made of, likewise.
    pub slow_weight: u32,
}

/// Averages of [`LogMax`], in fixed point; empty by default.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Averages {
    /// Average of the logarithm, in 2^-28, without bias correction.
    pub mean: i64,
    /// Mean of the logarithm by the slow weight.
    pub slow_mean: i64,
    /// Average of its square with the slow weight, in 2^-20.
    pub square: i64,
    /// Total weight in `mean`, in 2^-24, for bias correction.
    pub taken: u32,
    /// Total weight in the slow averages.
    pub slow_taken: u32,
}

/// Bits of a logarithm's fraction.
const FRACTION: u32 = 20;
/// A logarithm of 1.
pub(super) const ONE: i64 = 1 << FRACTION;
/// Additional bits of a mean, so that small weights change it by more than its rounding.
const FINER: u32 = 8;
/// Bits of a weight's fraction.
const WEIGHT: u32 = 24;
/// A weight of 1.
const ALL: u32 = 1 << WEIGHT;
/// Term that rounds a product by a weight to nearest.
const HALF: i64 = 1 << (WEIGHT - 1);

impl LogMax {
    /// `OpenSeq2Seq`'s numbers: room for 3.09 deviations below 2^16, averages by .99 and .999.
    pub(super) const fn open_seq2seq() -> Self {
        // .01 and .001 of 2^24, and 3.09 of 2^16, to the nearest.
        Self { ceiling_exponent: 16, deviations: 202_506, weight: 167_772, slow_weight: 16_777 }
    }

    /// The averages once another iteration's logarithm is in them.
    ///
    /// Wraps like a kernel for arbitrary averages; averages of gradients stay below 2^42.
    pub(super) fn learn(&self, so_far: Averages, log: i64) -> Averages {
        let Averages { mean, slow_mean, square, taken, slow_taken } = so_far;
        let (fast, slow) = (self.weight.min(ALL), self.slow_weight.min(ALL));
        Averages {
            mean: toward(mean, log << FINER, fast),
            slow_mean: toward(slow_mean, log << FINER, slow),
            square: toward(square, log.wrapping_mul(log) >> FRACTION, slow),
            taken: take(taken, fast),
            slow_taken: take(slow_taken, slow),
        }
    }

    /// Returns the exponent that leaves the requested headroom, before any limits; `None` where nothing was seen.
    pub(super) fn exponent(&self, seen: &Averages) -> Option<i64> {
        if seen.taken == 0 || seen.slow_taken == 0 {
            return None;
        }
        let mean = corrected(seen.mean, seen.taken) >> FINER;
        let slow = corrected(seen.slow_mean, seen.slow_taken) >> FINER;
        let square = corrected(seen.square, seen.slow_taken);
        let variance =
            square.wrapping_sub(slow.wrapping_mul(slow) >> FRACTION).max(0).cast_unsigned();
        let deviation = (variance << FRACTION).isqrt().cast_signed();
        let room = deviation.wrapping_mul(i64::from(self.deviations)) >> 16;
        let ceiling = i64::from(self.ceiling_exponent) << FRACTION;
        Some(ceiling.wrapping_sub(mean).wrapping_sub(room) >> FRACTION)
    }

    /// Returns the logarithm that an overflow counts as.
    pub(super) fn of_overflow(&self) -> i64 {
        i64::from(self.ceiling_exponent) << FRACTION
    }
}

/// Returns a weighted step from `average` to `value`, rounded to nearest, so that averages do not drift down.
fn toward(average: i64, value: i64, weight: u32) -> i64 {
    let step = value.wrapping_sub(average).wrapping_mul(i64::from(weight));
    average.wrapping_add(step.wrapping_add(HALF) >> WEIGHT)
}

/// Returns a weighted step of the total weight towards 1.
fn take(taken: u32, weight: u32) -> u32 {
    let left = u64::from(ALL - taken.min(ALL));
    let step = (left * u64::from(weight) + HALF.cast_unsigned()) >> WEIGHT;
    taken.min(ALL) + u32::try_from(step).unwrap_or(ALL)
}

/// Returns the average corrected for the total weight `taken`.
fn corrected(average: i64, taken: u32) -> i64 {
    (average << WEIGHT) / i64::from(taken.max(1))
}

/// The base-2 logarithm of a positive number, rounded down, in 2^-20: by squaring, one bit a time, in integers.
pub(super) fn log2(value: f32) -> i64 {
    let (exponent, fraction) = (value.to_bits() >> 23 & 0xff, value.to_bits() & 0x007f_ffff);
    let (exponent, significand) = if exponent == 0 {
        let up = fraction.max(1).leading_zeros() - 8;
        (1 - i64::from(up), fraction.max(1) << up)
    } else {
        (i64::from(exponent), fraction | 0x0080_0000)
    };
    // In [1, 2), with 63 bits of fraction: 20 squarings lose less than the 2^-43 or so that the logarithm of a number of
    // f32 is at least away from one that has 20 bits, so that what is cut off is what the exact logarithm has more.
    let mut rest = u64::from(significand) << 40;
    let mut log = exponent - 127;
    for _ in 0..FRACTION {
        let square = high(rest, rest);
        let bit = square >> 63;
        rest = square << (1 - bit);
        log = log << 1 | bit.cast_signed();
    }
    log
}

/// The upper half of a product.
fn high(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    u64::try_from(product >> 64).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The logarithm in f64, rounded down, of only the significand, so that an f64 is precise enough.
    fn of_significand(bits: u32) -> i64 {
        let log = f64::from(f32::from_bits(0x3f80_0000 | bits)).log2() * f64::from(1 << FRACTION);
        #[expect(clippy::cast_possible_truncation, reason = "below 2^20")]
        let down = log.floor() as i64;
        down
    }

    /// A sample of all significands, each at another exponent; every one of the 2^23 where `BINADE_FULL` is set.
    #[test]
    fn the_logarithm_is_rounded_down() {
        let stride = if std::env::var_os("BINADE_FULL").is_some() { 1 } else { 211 };
        for bits in (0..1 << 23).step_by(stride) {
            let exponent = 1 + bits % 254;
            let value = f32::from_bits(exponent << 23 | bits);
            let whole = (i64::from(exponent) - 127) << FRACTION;
            assert_eq!(log2(value), whole + of_significand(bits), "{value:e}");
        }
    }

    #[test]
    fn the_logarithm_of_a_subnormal_is_rounded_down() {
        for fraction in [3_u32, 5, 0x2a_aaab, 0x7f_ffff] {
            let highest = fraction.ilog2();
            let whole = (i64::from(highest) - 149) << FRACTION;
            let log = whole + of_significand((fraction << (23 - highest)) & 0x007f_ffff);
            assert_eq!(log2(f32::from_bits(fraction)), log, "{fraction}");
        }
    }

    #[test]
    fn the_logarithm_of_a_power_of_two_is_exact() {
        for exponent in -149..=127_i16 {
            let value = 2.0_f64.powi(i32::from(exponent));
            #[expect(clippy::cast_possible_truncation, reason = "a power of two in reach")]
            let value = value as f32;
            assert_eq!(log2(value), i64::from(exponent) << FRACTION);
        }
    }
}
