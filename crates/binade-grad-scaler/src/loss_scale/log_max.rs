//! The rule that predicts: a scale that leaves room for the largest gradient to come.

/// The scale that leaves the largest gradient to come below `2^ceiling`, by what the largest ones so far were.
///
/// `OpenSeq2Seq`'s `LogMaxScaler` (`automatic_loss_scaler.py`): with `x` the base-2 logarithm of an iteration's largest
/// |gradient|, its mean `m` and its standard deviation `s` estimated by exponential averages whose bias is corrected, the
/// scale is `2^(ceiling - (m + deviations * s))`. An overflow counts as `x = ceiling`; an iteration whose gradients are
/// all zero tells nothing.
///
/// Here the averages are integers, so that every device has the same bits, and the exponent is rounded down, so that the
/// scale is a power of two that leaves at least as much room.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogMax {
    /// The exponent that the largest gradient is to stay below; 16 for `f16`, whose largest number is just below 2^16.
    pub ceiling: i32,
    /// Standard deviations of room above the mean, in 65536ths.
    pub deviations: u32,
    /// The weight of an iteration in the mean, in 2^-24; above 1 is as 1.
    pub weight: u32,
    /// Its weight in the averages that the deviation is made of, likewise.
    pub slow_weight: u32,
}

/// What [`LogMax`] has seen, in fixed point: nothing yet by default.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Averages {
    /// Of the logarithm, in 2^-20, its bias not corrected.
    pub mean: i64,
    /// The same by the slow weight.
    pub slow_mean: i64,
    /// Of its square by the slow weight, in 2^-20.
    pub square: i64,
    /// The weights that `mean` has taken in, in 2^-24: what corrects its bias.
    pub taken: u32,
    /// The same of the slow averages.
    pub slow_taken: u32,
}

/// Bits of a logarithm's fraction.
const FRACTION: u32 = 20;
/// A logarithm of 1.
pub(super) const ONE: i64 = 1 << FRACTION;
/// Bits of a weight's fraction.
const WEIGHT: u32 = 24;
/// A weight of 1.
const ALL: u32 = 1 << WEIGHT;

impl LogMax {
    /// `OpenSeq2Seq`'s numbers: room for 3.09 deviations below 2^16, averages by .99 and .999.
    pub const fn open_seq2seq() -> Self {
        // .01 and .001 of 2^24, and 3.09 of 2^16, to the nearest.
        Self { ceiling: 16, deviations: 202_506, weight: 167_772, slow_weight: 16_777 }
    }

    /// The averages once another iteration's logarithm is in them.
    ///
    /// Wraps where averages were made up, as a kernel does; those that came from gradients stay below 2^42.
    pub(super) fn learn(&self, so_far: Averages, log: i64) -> Averages {
        let Averages { mean, slow_mean, square, taken, slow_taken } = so_far;
        let (fast, slow) = (self.weight.min(ALL), self.slow_weight.min(ALL));
        Averages {
            mean: toward(mean, log, fast),
            slow_mean: toward(slow_mean, log, slow),
            square: toward(square, log.wrapping_mul(log) >> FRACTION, slow),
            taken: take(taken, fast),
            slow_taken: take(slow_taken, slow),
        }
    }

    /// The exponent that leaves the room asked for, not yet within any limits; `None` where nothing was seen.
    pub(super) fn exponent(&self, seen: &Averages) -> Option<i64> {
        if seen.taken == 0 || seen.slow_taken == 0 {
            return None;
        }
        let mean = corrected(seen.mean, seen.taken);
        let slow = corrected(seen.slow_mean, seen.slow_taken);
        let square = corrected(seen.square, seen.slow_taken);
        let variance =
            square.wrapping_sub(slow.wrapping_mul(slow) >> FRACTION).max(0).cast_unsigned();
        let deviation = (variance << FRACTION).isqrt().cast_signed();
        let room = deviation.wrapping_mul(i64::from(self.deviations)) >> 16;
        let ceiling = i64::from(self.ceiling) << FRACTION;
        Some(ceiling.wrapping_sub(mean).wrapping_sub(room) >> FRACTION)
    }

    /// What an overflow counts as.
    pub(super) fn of_overflow(&self) -> i64 {
        i64::from(self.ceiling) << FRACTION
    }
}

/// A weighted step from `average` to `value`.
fn toward(average: i64, value: i64, weight: u32) -> i64 {
    let step = value.wrapping_sub(average).wrapping_mul(i64::from(weight)) >> WEIGHT;
    average.wrapping_add(step)
}

/// The same from the weights taken in to 1.
fn take(taken: u32, weight: u32) -> u32 {
    let left = u64::from(ALL - taken.min(ALL));
    let step = (left * u64::from(weight)) >> WEIGHT;
    taken.min(ALL) + u32::try_from(step).unwrap_or(ALL)
}

/// An average of values of which `taken` of the whole weight were taken in.
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
    // In [1, 2), with 31 bits of fraction.
    let mut rest = u64::from(significand) << 8;
    let mut log = exponent - 127;
    for _ in 0..FRACTION {
        rest = (rest * rest) >> 31;
        let bit = rest >> 32;
        rest >>= bit;
        log = log << 1 | bit.cast_signed();
    }
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_logarithm_is_that_of_f64_rounded_down() {
        for bits in (1..0x7f80_0000_u32).step_by(1_000_003) {
            let value = f32::from_bits(bits);
            let wanted = f64::from(value).log2() * f64::from(1 << FRACTION);
            #[expect(clippy::cast_precision_loss, reason = "below 2^28")]
            let got = log2(value) as f64;
            assert!(got <= wanted && wanted < got + 1.01, "{value:e}: {got} for {wanted}");
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
