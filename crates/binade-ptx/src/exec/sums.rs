//! Sums of `mma` in two modes: more exact than any GPU, and like the least exact Tensor Core.

/// Greatest number of terms of a sum; missing terms are 0.
pub(super) const DEPTH: usize = 16;

/// Columns of B.
pub(super) const COLUMNS: usize = 8;

/// Mode of the sums of `mma`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum MmaSums {
    /// In f64, rounded once to the nearest f32: more exact than any GPU.
    #[default]
    Exact,
    /// Aligned to the largest addend and cut to 24 bits: no more exact than any GPU with Tensor Cores.
    Truncating,
}

/// Adds up a row of D, of a row of A, all of B and a row of C.
type Row = fn(&[f64; DEPTH], &[[f64; COLUMNS]; DEPTH], &[f64; COLUMNS]) -> [f32; COLUMNS];

impl MmaSums {
    pub(super) fn of_row(self) -> Row {
        match self {
            Self::Exact => exact_row,
            Self::Truncating => truncating_row,
        }
    }
}

/// Returns a row of D: exact products, added up in f64, the first term first and C last, and rounded once to the nearest f32, to even.
/// The inner loop runs over columns, so that they are added at once.
fn exact_row(a: &[f64; DEPTH], b: &[[f64; COLUMNS]; DEPTH], c: &[f64; COLUMNS]) -> [f32; COLUMNS] {
    let mut sums = [0.0; COLUMNS];
    for (a, b) in a.iter().zip(b) {
        for (sum, b) in sums.iter_mut().zip(b) {
            *sum += a * b;
        }
    }
    std::array::from_fn(|column| nearest(sums[column] + c[column]))
}

/// Returns a row of D, each element of which is a [`truncating_sum`] of C and 16 exact products.
fn truncating_row(
    a: &[f64; DEPTH],
    b: &[[f64; COLUMNS]; DEPTH],
    c: &[f64; COLUMNS],
) -> [f32; COLUMNS] {
    std::array::from_fn(|column| {
        let mut addends = [c[column]; DEPTH + 1];
        for ((to, a), b) in addends.iter_mut().zip(a).zip(b) {
            *to = a * b[column];
        }
        truncating_sum(&addends)
    })
}

/// Returns the sum as the least exact known Tensor Core computes it (Volta's; later ones keep one to three bits more): addends are aligned to the
/// largest exponent among them, truncated to 24 bits and added, and the sum is truncated to f32's 24 bits. All rounding is toward zero (Fasi, Higham,
/// Mikaitis, Pranesh: "Numerical behavior of NVIDIA tensor cores", 2021).
fn truncating_sum(addends: &[f64; DEPTH + 1]) -> f32 {
    let largest = addends.iter().fold(0.0_f64, |largest, addend| largest.max(addend.abs()));
    let sum = addends.iter().fold(0.0, |sum, addend| sum + addend);
    if !sum.is_finite() || largest == 0.0 {
        return nearest(sum);
    }
    // Products of 16-bit numbers and f32 are normal in f64, and so is 2^-23 of them.
    let last_bit = power_of_two(largest) * 2.0_f64.powi(-23);
    // Multiples of `last_bit` below 2^24 times it: 17 of them add up exactly.
    let sum: f64 = addends.iter().map(|addend| (addend / last_bit).trunc() * last_bit).sum();
    toward_zero(sum)
}

/// Returns the largest power of two that is not above a positive normal number.
fn power_of_two(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000)
}

/// Returns the f32 next to `x` on the side of zero. A finite number beyond the largest f32 is infinite, as an overflow is on Tensor
/// Cores.
#[expect(
    clippy::cast_possible_truncation,
    reason = "brought back where it was rounded away from zero"
)]
fn toward_zero(x: f64) -> f32 {
    let rounded = x as f32;
    let is_larger = f64::from(rounded).abs() > x.abs();
    if is_larger && x.abs() < 2.0_f64.powi(128) {
        f32::from_bits(rounded.to_bits() - 1)
    } else {
        rounded
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the one rounding")]
fn nearest(sum: f64) -> f32 {
    sum as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(first: &[f64]) -> f32 {
        truncating_sum(&std::array::from_fn(|place| first.get(place).copied().unwrap_or(0.0)))
    }

    fn bit(exponent: i32) -> f64 {
        2.0_f64.powi(exponent)
    }

    #[test]
    fn bits_below_the_largest_addends_last_are_lost_one_by_one() {
        // Each is half of the last bit of 1, so that 16 are 8 of them to the exact mode.
        assert_eq!(sum(&[[1.0].to_vec(), vec![bit(-24); 16]].concat()), 1.0);
        assert_eq!(sum(&[1.0, bit(-23)]), 1.0 + f32::EPSILON);
        assert_eq!(sum(&[1.0, -bit(-24)]), 1.0);
        assert_eq!(sum(&[1.0, 1.75 * bit(-23), -1.75 * bit(-23)]), 1.0);
        assert_eq!(sum(&[-1.0, -1.75 * bit(-23)]), -1.0 - f32::EPSILON);
        // Terms that cancel determine the alignment before they cancel.
        assert_eq!(sum(&[bit(24), -bit(24), 1.0]), 0.0);
        assert_eq!(sum(&[bit(23), -bit(23), 1.0]), 1.0);
    }

    #[test]
    fn sums_beyond_24_bits_are_cut_toward_zero() {
        let almost_two = 2.0 - bit(-23);
        // 3·(2 - 2^-23) = 6 - 3·2^-23, of which f32 holds multiples of 4·2^-23.
        assert_eq!(sum(&[almost_two; 3]), 6.0 - 4.0 * f32::EPSILON);
        assert_eq!(sum(&[-almost_two; 3]), -6.0 + 4.0 * f32::EPSILON);
        assert_eq!(sum(&[3.0, -1.5]), 1.5);
        assert_eq!(sum(&[bit(-149), bit(-150)]), f32::from_bits(1));
        assert_eq!(sum(&[f64::from(f32::MAX), bit(103)]), f32::MAX);
        assert_eq!(sum(&[f64::from(f32::MAX), bit(104)]), f32::INFINITY);
    }

    #[test]
    fn zeros_and_what_is_not_finite_are_as_in_the_exact_mode() {
        assert_eq!(sum(&[0.0, -0.0]).to_bits(), 0);
        assert_eq!(truncating_sum(&[-0.0; DEPTH + 1]).to_bits(), 0);
        assert_eq!(sum(&[f64::INFINITY, 1.0]), f32::INFINITY);
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert!(sum(&[f64::NAN, 1.0]).is_nan());
    }
}
