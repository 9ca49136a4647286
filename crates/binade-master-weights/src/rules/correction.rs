//! Part of a rule's constants that depends on the count of applied steps.

use super::{Row, round};

/// Part of a rule's constants that depends on the count of applied steps.
///
/// It does not contain the learning rate, so a device's table of corrections stays valid under a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Correction {
    /// Bias of means that begin at zero, of these betas: the learning rate is divided by 1 - beta1^t, and the first constant is
    /// sqrt(1 - beta2^t), where t counts applied steps from 1.
    Bias([f64; 2]),
    /// Bias of the same means, taken off the learning rate alone: it is divided by (1 - beta1^t) / sqrt(1 - beta2^t), of which the
    /// root is rounded to `f32`, and the first constant is 1.
    SparseBias([f64; 2]),
    /// Decay of the learning rate, which is divided by 1 + t times this, where t counts applied steps from 0; the first constant is 0.
    LrDecay(f64),
    /// Bias of means that begin at zero, of these betas, where it divides the means themselves: the first constant is 1 - beta2^t, the second
    /// 1 - beta1^t, and the third is 1 in the first step and 0 later, where t counts applied steps from 1.
    Divisors([f64; 2]),
}

/// [`Correction`] of one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// Divisor of the learning rate, or of the first mean.
    pub divisor: f64,
    /// First constant of the row.
    pub first: f32,
}

impl Correction {
    /// Returns the correction of the step that follows `applied` applied steps.
    #[expect(clippy::cast_precision_loss, reason = "exact below 2^53 steps; torch counts in f32")]
    pub fn at(self, applied: u64) -> Corrected {
        match self {
            Self::Bias([beta1, beta2]) => {
                let t = (applied + 1) as f64;
                let root = round((1.0 - beta2.powf(t)).sqrt());
                Corrected { divisor: 1.0 - beta1.powf(t), first: root }
            }
            Self::SparseBias(betas) => {
                let Corrected { divisor, first: root } = Self::Bias(betas).at(applied);
                Corrected { divisor: divisor / f64::from(root), first: 1.0 }
            }
            Self::LrDecay(decay) => Corrected { divisor: 1.0 + applied as f64 * decay, first: 0.0 },
            Self::Divisors([beta1, beta2]) => {
                let t = (applied + 1) as f64;
                Corrected { divisor: 1.0 - beta1.powf(t), first: round(1.0 - beta2.powf(t)) }
            }
        }
    }

    /// Puts its constants of the step that follows `applied` applied steps in front of a row, as a device does.
    pub(super) fn put_in(self, row: &mut Row, lr: f64, applied: u64) {
        if let Self::Divisors(betas) = self {
            row[..3].copy_from_slice(&Self::divisors(betas, applied));
            return;
        }
        let Corrected { divisor, first } = self.at(applied);
        (row[0], row[1]) = (first, round(-lr / divisor));
    }

    /// Returns the constants of [`Divisors`](Self::Divisors) in the step that follows `applied` applied steps.
    pub(super) fn divisors(betas: [f64; 2], applied: u64) -> [f32; 3] {
        let Corrected { divisor, first } = Self::Divisors(betas).at(applied);
        [first, round(divisor), f32::from(applied == 0)]
    }

    /// Returns true if all corrections from the step that follows `applied` others on are equal: the bias has faded. A decay never ends.
    pub fn ends_at(self, applied: u64) -> bool {
        match self {
            Self::LrDecay(_) => false,
            // Both parts may be equal long before they are 1.
            Self::SparseBias(betas) => Self::Bias(betas).ends_at(applied),
            _ => self.at(applied) == Corrected { divisor: 1.0, first: 1.0 },
        }
    }

    /// Returns true if both are the same to the bit.
    pub fn is_same(self, other: Self) -> bool {
        let bits = |correction| match correction {
            Self::Bias(betas) => (0, betas.map(f64::to_bits)),
            Self::SparseBias(betas) => (1, betas.map(f64::to_bits)),
            Self::LrDecay(decay) => (2, [decay.to_bits(), 0]),
            Self::Divisors(betas) => (3, betas.map(f64::to_bits)),
        };
        bits(self) == bits(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns true if the correction has ended in the step that follows `applied` others.
    fn is_last(correction: Correction, applied: u64) -> bool {
        correction.ends_at(applied)
    }

    #[test]
    fn once_the_bias_has_faded_it_stays_so() {
        let betas = Correction::Bias([0.9, 0.95]);
        let last = (0..1000).find(|&applied| is_last(betas, applied)).unwrap();
        assert!((300..400).contains(&last), "{last}");
        assert!((last..last + 1000).all(|applied| is_last(betas, applied)));
        for only_one_has_faded in [[0.0, 0.999], [0.9, 0.0]] {
            assert!(!is_last(Correction::Bias(only_one_has_faded), 0));
        }
        // The divisor of the first step is 1 already.
        assert_eq!(Correction::SparseBias([0.5, 0.75]).at(0).divisor, 1.0);
        assert!(!is_last(Correction::SparseBias([0.5, 0.75]), 0));
    }

    #[test]
    fn divisors_fade_as_the_bias_does_and_tell_the_first_step() {
        let betas = Correction::Divisors([0.5, 0.75]);
        let front = |applied| {
            let mut row = [9.0; 16];
            betas.put_in(&mut row, 0.1, applied);
            row
        };
        assert_eq!(front(0)[..4], [0.25, 0.5, 1.0, 9.0]);
        assert_eq!(front(1)[..4], [0.4375, 0.75, 0.0, 9.0]);
        assert!(!is_last(betas, 40) && is_last(betas, 400));
        assert!(is_last(Correction::Divisors([0.0; 2]), 0));
        assert!(!betas.is_same(Correction::Bias([0.5, 0.75])) && betas.is_same(betas));
    }

    #[test]
    fn a_decay_divides_from_the_second_step_on_and_never_ends() {
        let divisors = [0, 1, 4].map(|applied| Correction::LrDecay(0.5).at(applied).divisor);
        assert_eq!(divisors, [1.0, 1.5, 3.0]);
        assert!(!is_last(Correction::LrDecay(0.0), 0));
    }
}
