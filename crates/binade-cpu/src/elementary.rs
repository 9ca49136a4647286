//! Elementary functions in f64, made only of additions, multiplications, a division and selections: loops over them are vectorised, and have the same
//! bits on every processor. Their relative error is below 3·10⁻¹³, so a result rounded to f32 is nearly always the nearest.

use crate::simd::{self, Loop};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// 1.5·2⁵²: adding it rounds a number to an integer, in the low bits of the sum.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Coefficients of the exponential's series, 1/k!, from the twelfth power down: within half of ln 2 their error is below 2·10⁻¹⁶.
const SERIES: [f64; 13] = [
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

/// Computes `exp(x)`: 0 below −708, and infinity above 709.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    // Within half of ln 2.
    let rest = (SHIFT - shifted).mul_add(LN_2, x);
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    let near = power * polynomial(rest, &SERIES);
    match x {
        _ if x > 709.0 => f64::INFINITY,
        _ if x < -708.0 => 0.0,
        _ => near,
    }
}

/// Constant of the map by which [`scaled_erfc`] spreads its argument evenly.
const MIDDLE: f64 = 3.0;

/// Coefficients of `exp(z²)·erfc(z)·(z + 3)` in powers of `(z − 3)/(z + 3)`, from the highest down, interpolated at the Chebyshev points
/// of 0 to 11 (the map is that of Shepherd, Laframboise 1981, "Chebyshev approximation of (1 + 2x)exp(x²)erfc x").
const TAIL: [f64; 16] = [
    7.322_714_110_129_514e-7,
    1.867_426_592_799_888_4e-6,
    -4.914_796_117_724_610_6e-6,
    -1.678_484_608_562_897_8e-5,
    3.070_412_181_328_685e-5,
    0.000_107_315_215_691_067_96,
    -0.000_276_924_316_332_317_77,
    -0.000_548_263_575_355_757_7,
    0.003_034_094_452_209_055,
    -0.001_212_421_242_084_380_3,
    -0.026_827_238_128_454_9,
    0.119_527_761_529_984_54,
    -0.310_467_261_737_024_8,
    0.590_228_357_098_177_1,
    -0.883_394_453_172_068_1,
    1.074_006_907_088_370_4,
];

/// Computes `exp(z²)·erfc(z)` for `z` from 0 to 11, and something finite beyond.
#[inline(always)]
fn scaled_erfc(z: f64) -> f64 {
    let inverse = 1.0 / (z + MIDDLE);
    polynomial((z - MIDDLE) * inverse, &TAIL) * inverse
}

/// Returns the value of the normal distribution function at `x`, and of its density times √(2π).
///
/// The lower tail keeps its relative error as far as f32 has numbers.
#[inline(always)]
pub(crate) fn normal(x: f64) -> [f64; 2] {
    let density = exp(-0.5 * x * x);
    // Beyond 15.6 the density is 0 in f32; the limit keeps its factor finite.
    let z = (x.abs() * FRAC_1_SQRT_2).min(11.0);
    let tail = 0.5 * density * scaled_erfc(z);
    [if x < 0.0 { tail } else { 1.0 - tail }, density]
}

/// Computes `tanh(x)` of an f32.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    // For small x the difference cancels, and two terms of the series are exact enough. In this form −0 stays −0.
    let small = x * (1.0 - x * x * (1.0 / 3.0));
    if x.abs() < 1e-4 { small } else { 1.0 - 2.0 / (exp(2.0 * x) + 1.0) }
}

#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[0];
    for coefficient in &coefficients[1..] {
        sum = sum.mul_add(x, *coefficient);
    }
    sum
}

/// Replaces each value `x` by `exp(x − minus)`, rounded to f32 once the difference is.
pub(crate) fn exponentials(values: &mut [f32], minus: f32) {
    simd::widest(Exponentials { values, minus });
}

struct Exponentials<'a> {
    values: &'a mut [f32],
    minus: f32,
}

impl Loop for Exponentials<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for value in self.values {
            #[expect(clippy::cast_possible_truncation, reason = "rounding is what is asked for")]
            let rounded = exp(f64::from(*value - self.minus)) as f32;
            *value = rounded;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{exp, exponentials, normal, tanh};
    use std::f64::consts::FRAC_1_SQRT_2;

    /// Returns f32 values of every exponent and both signs, and the special ones.
    fn values() -> impl Iterator<Item = f32> {
        let special = [-0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN];
        (0..u32::MAX).step_by(65_521).map(f32::from_bits).chain(special)
    }

    /// Asserts that a function's value, where f32 has it, is near the other's.
    #[track_caller]
    fn near(x: f32, got: f64, want: f64, bound: f64) {
        let is_tiny = want.abs() < f64::from(f32::from_bits(1)) / 2.0 && got.abs() < 1e-45;
        let is_near = (got - want).abs() <= bound * want.abs();
        let is_beyond = want > 1e300 && got > 1e300;
        // The sign of a NaN is the processor's choice.
        let are_nan = got.is_nan() && want.is_nan();
        let is_signed = got.is_sign_negative() == want.is_sign_negative();
        let is_right = is_signed && (is_tiny || is_near || is_beyond);
        assert!(are_nan || is_right, "{x}: {got:e}, {want:e}");
    }

    #[test]
    fn each_function_is_near_that_of_libm() {
        for x in values() {
            let wide = f64::from(x);
            near(x, exp(wide), wide.exp(), 3e-13);
            near(x, normal(wide)[0], 0.5 * libm::erfc(-wide * FRAC_1_SQRT_2), 3e-13);
            near(x, tanh(wide), wide.tanh(), 1e-11);
        }
    }

    #[test]
    fn exponentials_have_the_same_bits_on_every_path() {
        let mut row: Vec<f32> = values().filter(|x| x.abs() < 200.0).collect();
        #[expect(clippy::cast_possible_truncation, reason = "as it is rounded there")]
        let want: Vec<_> = row.iter().map(|x| exp(f64::from(x - 3.0)) as f32).collect();
        exponentials(&mut row, 3.0);
        assert!(row.iter().zip(&want).all(|(a, b)| a.to_bits() == b.to_bits()));
    }
}
