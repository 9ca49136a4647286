//! Subjects whose scale moves wrong in one way each.

use crate::faulty::Fault;
use binade_conformance::{IterationFindings, Result};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance, UpdateInputs};

/// The toy, with one sentence of the rules read otherwise.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Misruled {
    RefillsAtEachGoodStep,
    RestartsASpentHysteresis,
    StaysSpentInARow,
    CountsTheRowThroughGoodSteps,
    ForgetsAShareAtGrowth,
    TakesAShareForABound,
    DivergesThoughTolerated,
    CountsGoodStepsThroughToleratedOverflows,
    TakesTheFirstMagnitude,
    LearnsScaledGradients,
    LearnsFromZeros,
    LearnsNothingFromOverflows,
    LearnsWholeBinades,
    AveragesInF32,
    RoundsAveragesDown,
    PredictsBeyondLimits,
    LooksAtFourFindingsInVain,
}
use Misruled::*;

impl Fault for Misruled {
    fn update_scale(
        &self,
        rule: &LossScale,
        scale: ScaleState,
        round: &IterationFindings,
    ) -> Result<ScaleState> {
        let seen = self.misread(round, &scale);
        let next = self.altered(*rule).next(scale, seen);
        Ok(self.spoiled(rule, &scale, seen, next))
    }
}

impl Misruled {
    /// Rule as this subject reads it.
    fn altered(self, mut rule: LossScale) -> LossScale {
        rule.tolerance = match (self, rule.tolerance) {
            (RefillsAtEachGoodStep, Tolerance::UntilGrowth { overflows })
            | (StaysSpentInARow, Tolerance::InARow { overflows }) => {
                Tolerance::UntilGoodStep { overflows }
            }
            (RestartsASpentHysteresis, Tolerance::UntilGoodStep { overflows }) => {
                Tolerance::InARow { overflows }
            }
            (CountsTheRowThroughGoodSteps, Tolerance::InARow { overflows }) => {
                Tolerance::UntilGrowth { overflows }
            }
            (TakesAShareForABound, Tolerance::Share { of_65536 }) => {
                Tolerance::Share { of_65536: of_65536.saturating_add(1) }
            }
            (_, tolerance) => tolerance,
        };
        if self == PredictsBeyondLimits && rule.log_max.is_some() {
            (rule.min_exponent, rule.max_exponent) = (-126, 126);
        }
        rule
    }

    /// Findings as this subject reads them.
    fn misread(self, round: &IterationFindings, scale: &ScaleState) -> UpdateInputs {
        let seen = round.seen();
        let first = round.parts.first().map_or(0.0, |pass| pass.magnitude);
        let magnitude = match self {
            TakesTheFirstMagnitude => first,
            LearnsScaledGradients => seen.magnitude * scale.factor(),
            LearnsFromZeros if seen.magnitude == 0.0 => f32::MIN_POSITIVE,
            LearnsWholeBinades => f32::from_bits(seen.magnitude.to_bits() & 0x7f80_0000),
            _ => seen.magnitude,
        };
        let in_vain =
            self == LooksAtFourFindingsInVain && round.parts.len() + round.verdicts.len() == 4;
        if in_vain { UpdateInputs::default() } else { UpdateInputs { magnitude, ..seen } }
    }

    /// State as this subject leaves it.
    fn spoiled(
        self,
        rule: &LossScale,
        before: &ScaleState,
        seen: UpdateInputs,
        mut next: ScaleState,
    ) -> ScaleState {
        match self {
            ForgetsAShareAtGrowth if !seen.overflow && next.good_steps == 0 => next.tolerated = 0,
            DivergesThoughTolerated => {
                next.diverged |= seen.overflow && before.exponent <= rule.min_exponent;
            }
            CountsGoodStepsThroughToleratedOverflows if seen.overflow && next.tolerated > 0 => {
                next.good_steps = before.good_steps;
            }
            LearnsNothingFromOverflows if seen.overflow => {
                (next.averages, next.exponent) = (before.averages, before.exponent);
            }
            AveragesInF32 => next.averages.mean = in_f32(next.averages.mean),
            RoundsAveragesDown if next.averages != before.averages => {
                next.averages.square -= next.averages.square & 1;
            }
            _ => {}
        }
        next
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the fault is the rounding")]
#[expect(clippy::cast_precision_loss, reason = "the fault is the rounding")]
fn in_f32(average: i64) -> i64 {
    average as f32 as i64
}
