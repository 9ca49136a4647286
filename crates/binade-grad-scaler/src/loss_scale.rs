//! How the scale moves: a rule that is data, and one pure function that every device repeats.

use crate::ScaleState;
use crate::scale_state::MAX_EXPONENT;

/// How the scale moves.
///
/// Data rather than a trait: a kernel can take it as an argument, a checkpoint can hold it, and a captured graph can
/// replay it. A rule that it cannot express resolves each outcome and calls
/// [`Scaler::set_state`](crate::Scaler::set_state).
///
/// # Contract
///
/// * [`next`](Self::next) is pure, and every device agrees with it bit for bit.
/// * Whatever happens, the exponent that a rule moves to is within `min..=max` and ±126, and so the scale is never 0,
///   infinite or NaN.
/// * An overflow at the lowest scale, or `patience` skips in a row, is divergence and not another halving.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LossScale {
    /// The first scale is `2^init`.
    pub init: i32,
    /// Binades to gain after `growth_interval` good steps; 0 for never.
    pub growth: i32,
    /// Binades to lose at an overflow; 0 for never.
    pub backoff: i32,
    /// Good steps between growths. Lowering it below the steps already counted grows at the next good step.
    pub growth_interval: u32,
    /// The lowest exponent.
    pub min: i32,
    /// The highest exponent.
    pub max: i32,
    /// Skips in a row after which the run has diverged.
    pub patience: u32,
}

/// A number that cannot be part of a rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LossScaleError {
    /// Not a power of two in reach.
    #[error(
        "an initial scale of {0} is not a power of two between 2^-126 and 2^126; take 65536 (2^16), or import it with \
         `ScaleState::import`, which is not exact"
    )]
    Init(f32),
    /// An interval of zero.
    #[error(
        "a growth interval of 0 would grow the scale at every step; take 1 or more (torch's default is 2000)"
    )]
    Interval,
    /// A floor above the ceiling, or out of reach.
    #[error("scale limits 2^{min}..2^{max} are empty or beyond 2^±126; give the lower first")]
    Limits {
        /// The lower exponent given.
        min: i32,
        /// The higher exponent given.
        max: i32,
    },
}

/// What an update has to go by.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Seen {
    /// A gradient overflowed, whether or not its step was skipped for it.
    pub overflow: bool,
    /// At least one step was skipped.
    pub skipped: bool,
}

impl LossScale {
    /// From 2^16, twofold up after 2000 good steps, twofold down at each overflow; within [1, 2^24].
    ///
    /// The first four numbers are `torch.amp.GradScaler`'s defaults; the ceiling is Apex's `max_loss_scale`, the floor
    /// tf-keras's, and the patience outlasts the way from the ceiling to the floor.
    pub const fn dynamic() -> Self {
        Self {
            init: 16,
            growth: 1,
            backoff: 1,
            growth_interval: 2000,
            min: 0,
            max: 24,
            patience: 40,
        }
    }

    /// Always `2^exponent`; an overflow still skips.
    pub const fn fixed(exponent: i32) -> Self {
        Self {
            init: exponent,
            growth: 0,
            backoff: 0,
            min: exponent,
            max: exponent,
            ..Self::dynamic()
        }
    }

    /// Always 1: no scaling, and an overflow still skips. For bf16 and f32.
    pub const fn none() -> Self {
        Self::fixed(0)
    }

    /// Starts at `scale`, a power of two; the limits widen to hold it.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Init`] for anything else.
    pub fn with_init_scale(self, scale: f32) -> Result<Self, LossScaleError> {
        let state = ScaleState::import(scale).filter(ScaleState::is_exact);
        let init = state.ok_or(LossScaleError::Init(scale))?.exponent;
        Ok(Self { init, min: self.min.min(init), max: self.max.max(init), ..self })
    }

    /// Grows after this many good steps.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Interval`] for 0.
    pub fn with_growth_interval(self, steps: u32) -> Result<Self, LossScaleError> {
        if steps == 0 {
            return Err(LossScaleError::Interval);
        }
        Ok(Self { growth_interval: steps, ..self })
    }

    /// Stays within `2^min..=2^max`; the first scale is brought within.
    ///
    /// # Errors
    ///
    /// [`LossScaleError::Limits`] if that is empty, or beyond 2^±126.
    pub fn with_limits(self, min: i32, max: i32) -> Result<Self, LossScaleError> {
        if min > max || min < -MAX_EXPONENT || max > MAX_EXPONENT {
            return Err(LossScaleError::Limits { min, max });
        }
        Ok(Self { min, max, init: self.init.clamp(min, max), ..self })
    }

    /// Gives up after this many skips in a row.
    #[must_use]
    pub const fn with_patience(self, skips: u32) -> Self {
        Self { patience: skips, ..self }
    }

    /// The state a run starts in.
    pub fn start(&self) -> ScaleState {
        ScaleState::power_of_two(self.within(self.init, MAX_EXPONENT))
    }

    /// The state after one update. Every device's `update` agrees with this, bit for bit.
    pub fn next(&self, now: ScaleState, seen: Seen) -> ScaleState {
        let counted = ScaleState {
            before: now.exponent,
            updates: now.updates + 1,
            overflows: now.overflows + u64::from(seen.overflow),
            skipped: now.skipped + u64::from(seen.skipped),
            bad_steps: if seen.skipped { now.bad_steps.saturating_add(1) } else { 0 },
            ..now
        };
        match seen.overflow {
            _ if now.diverged => counted,
            true => self.back_off(counted),
            false => self.grow(counted),
        }
    }

    fn back_off(&self, now: ScaleState) -> ScaleState {
        let at_floor = self.backoff > 0 && now.exponent <= self.min;
        let diverged = at_floor || now.bad_steps >= self.patience;
        ScaleState {
            exponent: self.within(now.exponent.saturating_sub(self.backoff), now.highest()),
            good_steps: 0,
            diverged,
            ..now
        }
    }

    fn grow(&self, now: ScaleState) -> ScaleState {
        let good_steps = now.good_steps.saturating_add(1);
        if self.growth > 0 && good_steps >= self.growth_interval {
            let exponent = self.within(now.exponent.saturating_add(self.growth), now.highest());
            return ScaleState { exponent, good_steps: 0, ..now };
        }
        ScaleState { good_steps, ..now }
    }

    /// Not `clamp`, which panics on limits in the wrong order, and the fields are public.
    fn within(&self, exponent: i32, highest: i32) -> i32 {
        exponent.min(self.max).max(self.min).clamp(-MAX_EXPONENT, highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Seen = Seen { overflow: false, skipped: false };
    const SKIP: Seen = Seen { overflow: true, skipped: true };
    const DROPPED: Seen = Seen { overflow: true, skipped: false };

    fn run(rule: LossScale, seen: &[Seen]) -> ScaleState {
        seen.iter().fold(rule.start(), |state, &seen| rule.next(state, seen))
    }

    #[test]
    fn torch_table_of_two_good_steps_and_an_overflow() {
        let rule = LossScale { init: 2, backoff: 2, ..LossScale::dynamic() };
        let rule = rule.with_growth_interval(2).unwrap();
        let exponents = |seen: &[Seen]| (run(rule, seen).exponent, run(rule, seen).good_steps);
        assert_eq!(exponents(&[GOOD]), (2, 1));
        assert_eq!(exponents(&[GOOD, GOOD]), (3, 0));
        assert_eq!(exponents(&[GOOD, GOOD, SKIP]), (1, 0));
    }

    #[test]
    fn growth_fires_at_or_beyond_the_interval() {
        let slow = LossScale::dynamic();
        let state = run(slow, &[GOOD; 5]);
        let fast = slow.with_growth_interval(3).unwrap();
        assert_eq!(fast.next(state, GOOD).exponent, 17);
    }

    #[test]
    fn the_ceiling_holds_and_the_counter_restarts() {
        let rule = LossScale::dynamic().with_growth_interval(1).unwrap();
        let state = run(rule, &[GOOD; 20]);
        assert_eq!((state.exponent, state.good_steps), (24, 0));
    }

    #[test]
    fn an_overflow_at_the_floor_is_divergence() {
        let state = run(LossScale::dynamic(), &[SKIP; 16]);
        assert_eq!((state.exponent, state.diverged), (0, false));
        let state = run(LossScale::dynamic(), &[SKIP; 17]);
        assert_eq!((state.exponent, state.diverged, state.skipped), (0, true, 17));
    }

    #[test]
    fn patience_ends_even_where_there_is_no_floor_to_reach() {
        let rule = LossScale::none().with_patience(3);
        assert!(!run(rule, &[SKIP, SKIP, GOOD, SKIP, SKIP]).diverged);
        assert!(run(rule, &[SKIP; 3]).diverged);
    }

    #[test]
    fn divergence_stays_and_later_steps_are_counted() {
        let rule = LossScale::none().with_patience(1);
        let state = run(rule, &[SKIP, SKIP, SKIP]);
        assert!(state.diverged);
        assert_eq!((state.updates, state.skipped), (3, 3));
    }

    #[test]
    fn a_dropped_micro_batch_backs_off_without_counting_as_a_skip() {
        let state = run(LossScale::dynamic(), &[DROPPED]);
        assert_eq!(
            (state.exponent, state.overflows, state.skipped, state.bad_steps),
            (15, 1, 0, 0)
        );
    }

    #[test]
    fn a_fixed_scale_never_moves() {
        for seen in [GOOD, SKIP] {
            assert_eq!(run(LossScale::fixed(7), &[seen; 30]).exponent, 7);
        }
    }

    #[test]
    fn rules_that_make_no_sense_are_refused_by_value() {
        let rule = LossScale::dynamic();
        let text = rule.with_init_scale(1000.0).unwrap_err().to_string();
        assert!(text.contains("1000") && text.contains("65536"), "{text}");
        assert!(rule.with_init_scale(f32::NAN).is_err());
        assert_eq!(rule.with_growth_interval(0), Err(LossScaleError::Interval));
        assert_eq!(rule.with_limits(3, 2), Err(LossScaleError::Limits { min: 3, max: 2 }));
        assert_eq!(rule.with_init_scale(2.0_f32.powi(30)).unwrap().max, 30);
    }
}
