//! The master in `f16`, times a power of two that a tensor shares: half the bytes of an `f32` copy, and lossy.
//!
//! `TransformerEngine`'s `FusedAdam` keeps such masters (`master_weight_dtype=torch.float16`), with a scale of any value; here the scale is a power
//! of two, so scaling does not round.
//!
//! The exponent follows from the values and from nothing before them: the largest finite magnitude comes to lie within 2^14 and 2^15, half of where
//! `f16` ends. It is chosen again after every step, from the maximum of all results; a maximum does not depend on the division into threads and
//! blocks. A step therefore runs on an `f32` copy that lives as long as it does: 4 bytes for each element of the parameters that are being stepped. A
//! tensor whose largest value is below 2^-111 lies lower: no exponent is above 125, which is as far as scaling can be undone exactly.
//!
//! * Kept: the range of `f32` as a whole, whatever the binades a tensor lives in; 11 bits of significand for values down to
//!   2^-28 of the tensor's largest, three more than `bf16` has.
//! * Lost: updates below 2^-12 of a master, as with bare `f16` parameters; what lies 2^-40 below the largest becomes 0.
//! * A tensor's scale moves with its largest value: one outlier takes bits from the smallest.
//! * An infinity and a NaN stay what they are and do not count for the exponent.

use half::f16;

/// Exponent of the largest magnitude after scaling: it lies between 2 to this and twice that.
const TOP: i32 = 14;

/// Exponents for which scaling down is exact too: products are multiples of 2^-24-125, the smallest `f32`.
const LARGEST: i32 = 125;

/// Binades below the normal ones that f32's subnormals take.
const BIAS: i32 = 127;

/// The exponent for `values`: 0 where all are zero or not finite.
#[must_use]
pub fn exponent(values: &[f32]) -> i32 {
    let finite = values.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    let largest = finite.fold(0.0_f32, f32::max);
    if largest == 0.0 { 0 } else { (TOP - binade(largest)).min(LARGEST) }
}

/// The exponent of a positive number's binade; the smallest normal one's for subnormals.
fn binade(x: f32) -> i32 {
    (x.to_bits() >> 23).cast_signed().max(1) - BIAS
}

/// Returns the stored bits of `value`.
#[inline(always)]
#[must_use]
pub fn pack(value: f32, exponent: i32) -> u16 {
    f16::from_f32(value * power(exponent)).to_bits()
}

/// Returns the value of the stored `bits`.
#[inline(always)]
#[must_use]
pub fn unpack(bits: u16, exponent: i32) -> f32 {
    f16::from_bits(bits).to_f32() * power(-exponent)
}

/// 2 to an exponent of a normal number.
#[inline(always)]
fn power(exponent: i32) -> f32 {
    f32::from_bits((exponent + BIAS).cast_unsigned() << 23)
}
