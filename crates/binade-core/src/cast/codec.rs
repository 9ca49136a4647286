//! Rounding an `f32` among the codes of a narrower format, in 32-bit integer arithmetic.
//!
//! Codes of one sign are evenly spaced inside a binade and carry over into the next, so that rounding a value is rounding
//! its code written as a fixed-point number, and a carry out of the significand needs no case of its own. A kernel or
//! shader that repeats these lines gets the same bits.

use super::OnOverflow;
use crate::dtype::Format;

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;
/// Stored significand bits of `f32`.
const STORED: u32 = 23;

/// Place of a narrow format's codes among the patterns of `f32`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codec {
    /// Number of significand bits by which `f32` exceeds the format.
    dropped: u32,
    /// Exponent field in `f32` of the format's smallest normal.
    first_normal: u32,
    /// Number of the sign's bit.
    sign_bit: u32,
    /// Largest finite code; the next one is infinity, or NaN if there is none.
    max: u32,
    /// Code of the quiet NaN.
    nan: u32,
}

impl Codec {
    pub(crate) const BF16: Self = Self::new(Format::BF16);
    pub(crate) const F16: Self = Self::new(Format::F16);
    pub(crate) const E4M3: Self = Self::new(Format::E4M3);
    pub(crate) const E5M2: Self = Self::new(Format::E5M2);

    const fn new(format: Format) -> Self {
        let stored = format.significand_bits - 1;
        let sign_bit = format.magnitude_bits();
        let all_ones = (1 << sign_bit) - 1;
        let infinity = if format.has_infinity { all_ones - ((1 << stored) - 1) } else { all_ones };
        Self {
            dropped: STORED - stored,
            first_normal: 129 - (1 << (format.exponent_bits - 1)),
            sign_bit,
            max: infinity - 1,
            nan: infinity | (1 << (stored - 1)),
        }
    }

    /// Rounds to nearest, ties to even.
    ///
    /// Both sums are always computed and one is selected, so that a loop over values has no branch.
    #[inline(always)]
    pub(crate) const fn nearest(self, value: f32, on_overflow: OnOverflow) -> u32 {
        let magnitude = value.to_bits() & !SIGN;
        let (first, below_half) = (self.first_normal << STORED, (1 << (self.dropped - 1)) - 1);
        let odd = (magnitude >> self.dropped) & 1;
        let normal = magnitude.wrapping_sub(first - (1 << STORED)).wrapping_add(below_half + odd);
        // The last place of a number with this exponent is the format's smallest number, so a sum is rounded to it.
        let unit = f32::from_bits((self.first_normal + self.dropped) << STORED);
        let subnormal = (f32::from_bits(magnitude) + unit).to_bits().wrapping_sub(unit.to_bits());
        let code = if magnitude >= first { normal >> self.dropped } else { subnormal };
        self.encode(value, code, on_overflow)
    }

    /// Rounds up with the probability of the part that is cut off; `random` is uniform.
    #[inline(always)]
    pub(crate) const fn stochastic(self, value: f32, random: u32, on_overflow: OnOverflow) -> u32 {
        let (number, point) = self.fixed(value.to_bits() & !SIGN);
        self.encode(value, (number + (random >> (32 - point))) >> point, on_overflow)
    }

    /// Returns a magnitude as `number / 2^point`. Its integer part is the code below it, and its fraction decides the rounding.
    /// The format's largest exponent is not checked.
    ///
    /// `point` is between 13 and 31: of fractions under 2^-7, bits beyond 31 are cut off.
    #[inline(always)]
    const fn fixed(self, magnitude: u32) -> (u32, u32) {
        let exponent = magnitude >> STORED;
        if exponent >= self.first_normal {
            return (magnitude - ((self.first_normal - 1) << STORED), self.dropped);
        }
        let leading = if exponent == 0 { 0 } else { 1 << STORED };
        let significand = magnitude & ((1 << STORED) - 1) | leading;
        let binades_below = self.first_normal - if exponent == 0 { 1 } else { exponent };
        cap(significand, self.dropped + binades_below)
    }

    /// Returns the signed code, where `code` is the rounded magnitude's; infinity's is beyond the largest in every format.
    #[inline(always)]
    const fn encode(self, value: f32, code: u32, on_overflow: OnOverflow) -> u32 {
        let beyond = match on_overflow {
            OnOverflow::Saturate => self.max,
            OnOverflow::NonFinite => self.max + 1,
        };
        let limited = if code > self.max { beyond } else { code };
        let magnitude = if value.is_nan() { self.nan } else { limited };
        magnitude | (value.to_bits() >> 31) << self.sign_bit
    }

    /// Returns the value of a code, exactly.
    #[inline(always)]
    pub(crate) const fn decode(self, code: u32) -> f32 {
        let sign = (code >> self.sign_bit) << 31;
        let magnitude = code & ((1 << self.sign_bit) - 1);
        f32::from_bits(sign | self.decode_magnitude(magnitude))
    }

    #[inline(always)]
    const fn decode_magnitude(self, code: u32) -> u32 {
        let rebias = (self.first_normal - 1) << STORED;
        let normal = (code << self.dropped).wrapping_add(rebias);
        // A subnormal has no leading one; read with one, it is too large by exactly the smallest normal.
        let min_normal = f32::from_bits(rebias + (1 << STORED));
        let with_leading_one = f32::from_bits(normal.wrapping_add(1 << STORED));
        let subnormal = (with_leading_one - min_normal).to_bits();
        let finite = if code >> (STORED - self.dropped) == 0 { subnormal } else { normal };
        let is_infinity = code == self.max + 1 && code != self.nan;
        let beyond = if is_infinity { INFINITY } else { f32::NAN.to_bits() };
        if code > self.max { beyond } else { finite }
    }
}

/// Keeps 31 bits of fraction, so that the sum with a random fraction fits in 32 bits.
#[inline(always)]
const fn cap(number: u32, point: u32) -> (u32, u32) {
    match point {
        ..=31 => (number, point),
        32..=54 => (number >> (point - 31), 31),
        _ => (0, 31),
    }
}
