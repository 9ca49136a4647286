//! Division by an extent, as a multiplication and a shift that a kernel does for each element.

use crate::launch::structs::DivisorBits;

impl DivisorBits {
    /// Returns the divisor of numbers below 2^31. 0, which no kernel divides by, gets the divisor of 1.
    ///
    /// T. Granlund and P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994, figure 4.1: with `2^shift` the least power
    /// of two that is at least `by`, the quotient is `(value · multiplier / 2^32 + value) / 2^shift`.
    pub(super) fn of(by: u32) -> Self {
        let by = by.max(1);
        let shift = 32 - (by - 1).leading_zeros();
        // At most 2^32 - 2^33 / by + 1, which is below 2^32.
        let multiplier = (((1_u64 << shift) - u64::from(by)) << 32) / u64::from(by) + 1;
        let multiplier = u32::try_from(multiplier).unwrap_or(u32::MAX);
        Self { by, multiplier, shift }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the quotient as `divide.cuh` computes it.
    fn divided(value: u32, divisor: DivisorBits) -> u32 {
        let high = (u64::from(value) * u64::from(divisor.multiplier)) >> 32;
        u32::try_from(high + u64::from(value)).unwrap() >> divisor.shift
    }

    #[test]
    fn quotients_are_those_of_integers_up_to_their_end() {
        let most = (1_u32 << 31) - 1;
        let powers = (0..31)
            .flat_map(|bits| [(1_u32 << bits).saturating_sub(1), 1 << bits, (1 << bits) + 1]);
        let divisors: Vec<u32> = powers.chain(1..300).chain([641, 6_700_417, most]).collect();
        for by in divisors.into_iter().filter(|by| *by > 0) {
            let divisor = DivisorBits::of(by);
            let multiples = (0..400).map(|times| by.saturating_mul(times).min(most));
            let near = multiples.flat_map(|value| {
                [value.saturating_sub(1), value, value + u32::from(value < most)]
            });
            for value in near.chain((0..300).map(|below| most - below)).chain(0..300) {
                assert_eq!(divided(value, divisor), value / by, "{value} by {by}");
            }
        }
        assert_eq!(divided(7, DivisorBits::of(0)), 7);
    }
}
