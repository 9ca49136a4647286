//! Update of the scale, a function that every device repeats.

use super::MAX_EXPONENT;
use super::tolerance::{BACKOFF, GOOD_STEP, GROWTH};
use super::{LossScale, log_max};
use crate::ScaleState;
use binade_core::FoundInf;

/// Inputs of a scale update, from the found-inf results of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UpdateInputs {
    /// A gradient overflowed, whether or not its step was skipped for it.
    pub overflow: bool,
    /// At least one step was skipped.
    pub skipped: bool,
    /// Largest finite |scaled gradient|, the input of [`LogMax`](super::LogMax).
    pub magnitude: f32,
}

impl UpdateInputs {
    /// Reads the found-inf results of the passes and the verdicts of the steps.
    pub(crate) fn from_findings(parts: &[&FoundInf], verdicts: &[&FoundInf]) -> Self {
        let skipped = verdicts.iter().any(|found| found.is_raised());
        let overflow = skipped || parts.iter().any(|found| found.is_raised());
        let magnitudes = parts.iter().chain(verdicts).map(|found| found.magnitude);
        Self { overflow, skipped, magnitude: magnitudes.fold(0.0, f32::max) }
    }
}

impl LossScale {
    /// The state after one update. Every device's `update` agrees with this, bit for bit.
    pub fn next(&self, now: ScaleState, seen: UpdateInputs) -> ScaleState {
        let counted = ScaleState {
            before: now.exponent,
            updates: now.updates.wrapping_add(1),
            overflows: now.overflows.wrapping_add(seen.overflow.into()),
            skipped: now.skipped.wrapping_add(seen.skipped.into()),
            bad_steps: if seen.skipped { now.bad_steps.saturating_add(1) } else { 0 },
            ..now
        };
        if now.diverged {
            return counted;
        }
        let counted = ScaleState { since_move: now.since_move.saturating_add(1), ..counted };
        let next =
            if seen.overflow { self.after_overflow(counted) } else { self.after_good(counted) };
        self.predicted(next, seen)
    }

    fn after_overflow(&self, now: ScaleState) -> ScaleState {
        let tolerated = now.tolerated.saturating_add(1);
        let now = ScaleState {
            tolerated,
            good_steps: 0,
            diverged: now.bad_steps >= self.patience,
            ..now
        };
        if !self.tolerance.is_spent(&now) {
            return now;
        }
        let may_fall = self.backoff_exponent > 0 || self.log_max.is_some();
        ScaleState {
            exponent: self.within(i64::from(now.exponent) - i64::from(self.backoff_exponent), &now),
            tolerated: self.tolerance.after(BACKOFF, tolerated),
            since_move: 0,
            diverged: now.diverged || may_fall && now.exponent <= self.min_exponent,
            ..now
        }
    }

    fn after_good(&self, now: ScaleState) -> ScaleState {
        let good_steps = now.good_steps.saturating_add(1);
        let now = ScaleState {
            good_steps,
            tolerated: self.tolerance.after(GOOD_STEP, now.tolerated),
            ..now
        };
        if self.growth_exponent <= 0 || good_steps < self.growth_interval {
            return now;
        }
        ScaleState {
            exponent: self.within(i64::from(now.exponent) + i64::from(self.growth_exponent), &now),
            good_steps: 0,
            tolerated: self.tolerance.after(GROWTH, now.tolerated),
            since_move: 0,
            ..now
        }
    }

    /// Replaces the scale by the prediction of [`LogMax`](super::LogMax), where the rule has one.
    fn predicted(&self, now: ScaleState, seen: UpdateInputs) -> ScaleState {
        let Some(rule) = &self.log_max else { return now };
        let sample = if seen.overflow {
            Some(rule.of_overflow())
        } else {
            // The logarithm of the unscaled gradient: that of the scaled one minus that of its scale.
            let scale = i64::from(now.before) * log_max::ONE + log_max::log2(now.significand);
            (seen.magnitude > 0.0).then(|| log_max::log2(seen.magnitude) - scale)
        };
        let averages = sample.map_or(now.averages, |log| rule.learn(now.averages, log));
        let exponent =
            rule.exponent(&averages).map_or(now.before, |exponent| self.within(exponent, &now));
        ScaleState { exponent, averages, ..now }
    }

    /// Not `clamp`, which panics on limits in the wrong order: the fields are public.
    pub(super) fn within(&self, exponent: i64, now: &ScaleState) -> i32 {
        let exponent = exponent.min(self.max_exponent.into()).max(self.min_exponent.into());
        let exponent = exponent.clamp((-MAX_EXPONENT).into(), now.highest().into());
        i32::try_from(exponent).unwrap_or_default()
    }
}
