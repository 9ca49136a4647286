//! Elementary functions in f64, of additions, multiplications, a division and choices alone: a loop over one of them is vectorised,
//! and has the same bits on every processor. Their relative error is below 2·10⁻¹⁰, so that a result rounded to f32 is nearly always
//! the nearest.

use crate::simd::{self, Loop};
use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// 1.5·2⁵²: a sum with it is rounded to an integer, which stands in the low bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Coefficients of the exponential's series, 1/k!, from the ninth power down: beyond half of ln 2 they leave 7·10⁻¹².
const SERIES: [f64; 10] = [
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

/// Computes `exp(x)`; 0 and infinity where f64 has none or nearly none, NaN of NaN.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let shifted = x.mul_add(LOG2_E, SHIFT);
    // Exact: the integer has few bits, and the rest of x is within half of ln 2.
    let rest = (SHIFT - shifted).mul_add(LN_2, x);
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    let near = power * polynomial(rest, &SERIES);
    match x {
        _ if x > 709.0 => f64::INFINITY,
        _ if x < -708.0 => 0.0,
        _ => near,
    }
}

/// Distance from which on the map of [`scaled_erfc`] takes its argument evenly.
const MIDDLE: f64 = 3.0;

/// Coefficients of `exp(z²)·erfc(z)·(z + 3)` in powers of `(z − 3)/(z + 3)`, from the highest down, interpolated at the Chebyshev points
/// of 0 to 11 (the map is that of Shepherd, Laframboise 1981, "Chebyshev approximation of (1 + 2x)exp(x²)erfc x").
const TAIL: [f64; 12] = [
    4.031_185_324_543_989e-5,
    9.748_043_856_634_484e-5,
    -0.000_287_128_841_520_005_3,
    -0.000_547_121_362_096_456_7,
    0.003_037_339_488_321_892_5,
    -0.001_212_154_015_648_895_4,
    -0.026_827_650_476_010_795,
    0.119_527_702_996_846_83,
    -0.310_467_243_660_833,
    0.590_228_359_846_124_2,
    -0.883_394_453_272_890_7,
    1.074_006_907_070_032,
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
    // Beyond 15 either tail is 0 in f32, and its factor must be finite.
    let z = (x.abs() * FRAC_1_SQRT_2).min(11.0);
    let tail = 0.5 * density * scaled_erfc(z);
    [if x < 0.0 { tail } else { 1.0 - tail }, density]
}

/// Computes `tanh(x)` of an f32.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    // The difference loses what a small x has, whose cube says enough.
    let small = x - x * x * x * (1.0 / 3.0);
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
        (0..u32::MAX).step_by(65_521).map(f32::from_bits)
    }

    /// Asserts that a function's value, where f32 has it, is near the other's.
    #[track_caller]
    fn near(x: f32, got: f64, want: f64) {
        let is_tiny = want.abs() < f64::from(f32::from_bits(1)) / 2.0 && got.abs() < 1e-45;
        let is_near = (got - want).abs() <= 2e-10 * want.abs();
        let is_beyond = want > 1e300 && got > 1e300;
        let is_same = got.is_nan() && want.is_nan();
        assert!(is_tiny || is_near || is_beyond || is_same, "{x}: {got:e}, {want:e}");
    }

    #[test]
    fn each_function_is_near_that_of_libm() {
        for x in values() {
            let wide = f64::from(x);
            near(x, exp(wide), wide.exp());
            near(x, normal(wide)[0], 0.5 * libm::erfc(-wide * FRAC_1_SQRT_2));
            near(x, tanh(wide), wide.tanh());
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
