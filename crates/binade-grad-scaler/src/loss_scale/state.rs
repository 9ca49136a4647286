//! A loss scale and its counters.

use crate::Averages;

/// Loss scale, `significand * 2^exponent`, with its counters.
///
/// The significand is 1 unless a scale that is not a power of two was imported; rules change only the exponent. So the factor is exact, every product
/// that stays in its format's normal range is exact, and the scale is never 0, infinite or NaN.
///
/// # Examples
///
/// ```
/// use binade_grad_scaler::ScaleState;
///
/// let state = ScaleState::from_exponent(16);
/// assert_eq!((state.factor(), state.inverse()), (65536.0, 1.0 / 65536.0));
/// assert!(ScaleState::import(3000.0).is_some_and(|imported| imported.significand > 1.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScaleState {
    /// Significand of the scale, in [1, 2): 1 unless the state was imported.
    pub significand: f32,
    /// The binade of the scale: 16 for 65536.
    pub exponent: i32,
    /// The exponent before the last update.
    pub before: i32,
    /// Updates without overflow since the scale last moved.
    pub good_steps: u32,
    /// Skips in a row.
    pub bad_steps: u32,
    /// Updates so far.
    pub updates: u64,
    /// Updates that saw an overflow, in a step that was skipped or in a micro-batch that was left out.
    pub overflows: u64,
    /// Updates in which at least one step was skipped.
    pub skipped: u64,
    /// True once the rule has given up; every later step is skipped until a new state is set.
    pub diverged: bool,
    /// Overflows that the rule's [`Tolerance`](crate::Tolerance) has counted so far.
    #[cfg_attr(feature = "serde", serde(default))]
    pub tolerated: u32,
    /// Updates since the rule last changed the scale, or would have without its limits.
    #[cfg_attr(feature = "serde", serde(default))]
    pub since_move: u32,
    /// Averages of the rule's [`LogMax`](crate::LogMax).
    #[cfg_attr(feature = "serde", serde(default))]
    pub averages: Averages,
}

/// Exponents are kept within ±126, so that a scale and its inverse are normal `f32` numbers.
pub(super) const MAX_EXPONENT: i32 = 126;

impl ScaleState {
    /// Returns a fresh state at `2^exponent`, with the exponent brought within ±126. To create a state from a factor, use [`import`](Self::import).
    pub fn from_exponent(exponent: i32) -> Self {
        let exponent = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
        Self {
            significand: 1.0,
            exponent,
            before: exponent,
            good_steps: 0,
            bad_steps: 0,
            updates: 0,
            overflows: 0,
            skipped: 0,
            diverged: false,
            tolerated: 0,
            since_move: 0,
            averages: Averages::default(),
        }
    }

    /// A state at any positive `factor` whose inverse is a normal number too, as another library may have saved it.
    /// Exact only if it is a power of two, and so has a significand of 1.
    pub fn import(factor: f32) -> Option<Self> {
        let exponent = (factor.to_bits() >> 23).cast_signed() - 127;
        let significand = f32::from_bits(factor.to_bits() & 0x007f_ffff | 0x3f80_0000);
        let imported = Self { significand, ..Self::from_exponent(exponent) };
        // The sign is the exponent's highest bit, so a negative factor is out of range, like 0, infinity and NaN.
        (-MAX_EXPONENT..=imported.highest()).contains(&exponent).then_some(imported)
    }

    /// Returns true if scaling and unscaling are exact: the scale is a power of two.
    pub(crate) fn is_exact(&self) -> bool {
        self.significand.to_bits() == 1.0_f32.to_bits()
    }

    /// The highest exponent whose inverse is a normal number: one less where the significand is above 1.
    pub(crate) fn highest(&self) -> i32 {
        if self.is_exact() { MAX_EXPONENT } else { MAX_EXPONENT - 1 }
    }

    /// Returns the factor of the loss.
    pub fn factor(&self) -> f32 {
        self.significand * power_of_two(self.exponent)
    }

    /// Returns the factor of the loss before the last update.
    pub fn factor_before(&self) -> f32 {
        self.significand * power_of_two(self.before)
    }

    /// Returns the factor of a gradient: the reciprocal of the scale, rounded once.
    pub fn inverse(&self) -> f32 {
        power_of_two(self.exponent.saturating_neg()) / self.significand
    }

    /// Updates in which every step was applied.
    pub fn applied(&self) -> u64 {
        self.updates.saturating_sub(self.skipped)
    }
}

/// `2^exponent`, exactly.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT) + 127).cast_unsigned() << 23)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LossScale, UpdateInputs};

    #[test]
    fn every_exponent_has_an_exact_factor_and_inverse() {
        for exponent in -MAX_EXPONENT..=MAX_EXPONENT {
            let state = ScaleState::from_exponent(exponent);
            assert_eq!(state.factor(), 2.0_f32.powi(exponent));
            assert_eq!(state.factor() * state.inverse(), 1.0, "2^{exponent}");
        }
    }

    #[test]
    fn an_imported_scale_keeps_its_value_and_says_whether_it_is_exact() {
        for (factor, exact) in [(65536.0, true), (3.0, false), (1.0e-3, false), (0.25, true)] {
            let state = ScaleState::import(factor).expect("usable");
            assert_eq!((state.factor(), state.is_exact()), (factor, exact));
        }
    }

    #[test]
    fn every_power_of_two_in_reach_can_be_imported() {
        for exponent in -MAX_EXPONENT..=MAX_EXPONENT {
            let state = ScaleState::import(2.0_f32.powi(exponent));
            assert_eq!(state, Some(ScaleState::from_exponent(exponent)));
        }
        let beyond = f32::from_bits(2.0_f32.powi(MAX_EXPONENT).to_bits() + 1);
        assert_eq!(ScaleState::import(beyond), None, "its inverse is subnormal");
    }

    #[test]
    fn an_imported_scale_never_grows_beyond_a_normal_inverse() {
        let rule =
            LossScale { growth_interval: 1, max_exponent: MAX_EXPONENT, ..LossScale::dynamic() };
        let high = ScaleState::import(1.5 * 2.0_f32.powi(125)).expect("usable");
        let grown = rule.next(high, UpdateInputs::default());
        assert_eq!(grown.exponent, 125);
        assert!(grown.inverse().is_normal() && grown.factor().is_normal());
        let exact = ScaleState::import(2.0_f32.powi(125)).expect("usable");
        assert_eq!(rule.next(exact, UpdateInputs::default()).exponent, 126);
    }

    #[test]
    fn what_cannot_be_a_scale_is_not_imported() {
        let subnormal = f32::from_bits(1);
        for factor in [
            0.0,
            -0.0,
            -1.0,
            f32::MIN,
            f32::NEG_INFINITY,
            f32::INFINITY,
            f32::NAN,
            subnormal,
            f32::MAX,
        ] {
            assert_eq!(ScaleState::import(factor), None, "{factor}");
        }
    }
}
