//! Subjects whose scale moves wrong in one way each.

use super::caught::caught;
use super::faulty::Fault;
use crate::{IterationFindings, Result};
use binade_grad_scaler::{LossScale, ScaleState, Tolerance, UpdateInputs};

/// The fault of this name.
#[derive(Clone, Copy)]
pub(super) struct Wrong(&'static str);

impl Fault for Wrong {
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

impl Wrong {
    /// Rule as this subject reads it.
    fn altered(self, mut rule: LossScale) -> LossScale {
        rule.tolerance = match (self.0, rule.tolerance) {
            ("refills_at_each_good_step", Tolerance::UntilGrowth { overflows })
            | ("stays_spent_in_a_row", Tolerance::InARow { overflows }) => {
                Tolerance::UntilGoodStep { overflows }
            }
            ("restarts_a_spent_hysteresis", Tolerance::UntilGoodStep { overflows })
            | ("forgets_overflows_at_good_steps", Tolerance::SinceMove { overflows }) => {
                Tolerance::InARow { overflows }
            }
            ("counts_the_row_through_good_steps", Tolerance::InARow { overflows }) => {
                Tolerance::UntilGrowth { overflows }
            }
            ("takes_a_share_for_a_bound", Tolerance::Share { of_65536 }) => {
                Tolerance::Share { of_65536: of_65536.saturating_add(1) }
            }
            (_, tolerance) => tolerance,
        };
        if self.0 == "predicts_beyond_limits" && rule.log_max.is_some() {
            (rule.min_exponent, rule.max_exponent) = (-126, 126);
        }
        rule
    }

    /// Findings as this subject reads them.
    fn misread(self, round: &IterationFindings, scale: &ScaleState) -> UpdateInputs {
        let seen = round.seen();
        let first = round.parts.first().map_or(0.0, |pass| pass.magnitude);
        let magnitude = match self.0 {
            "takes_the_first_magnitude" => first,
            "learns_scaled_gradients" => seen.magnitude * scale.factor(),
            "learns_from_zeros" if seen.magnitude == 0.0 => f32::MIN_POSITIVE,
            "learns_whole_binades" => f32::from_bits(seen.magnitude.to_bits() & 0x7f80_0000),
            _ => seen.magnitude,
        };
        let in_vain = self.0 == "looks_at_four_findings_in_vain"
            && round.parts.len() + round.verdicts.len() == 4;
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
        match self.0 {
            "forgets_a_share_at_growth" if !seen.overflow && next.good_steps == 0 => {
                next.tolerated = 0;
            }
            "diverges_though_tolerated" => {
                next.diverged |= seen.overflow && before.exponent <= rule.min_exponent;
            }
            "counts_good_steps_through_tolerated_overflows"
                if seen.overflow && next.tolerated > 0 =>
            {
                next.good_steps = before.good_steps;
            }
            "learns_nothing_from_overflows" if seen.overflow => {
                (next.averages, next.exponent) = (before.averages, before.exponent);
            }
            "averages_in_f32" => next.averages.mean = in_f32(next.averages.mean),
            "rounds_averages_down" if next.averages != before.averages => {
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

caught! {
    fn refills_at_each_good_step() by
        "scale_update/-/growth_alone_refills_deepspeeds_hysteresis" "scale_update/-/deepspeed_moves_as_documented";
    fn restarts_a_spent_hysteresis() by
        "scale_update/-/a_spent_hysteresis_backs_off_at_each_overflow" "scale_update/-/apex_hysteresis_moves_as_documented";
    fn stays_spent_in_a_row() by "scale_update/-/a_back_off_starts_the_row_anew";
    fn counts_the_row_through_good_steps() by "scale_update/-/a_good_step_starts_the_row_anew";
    fn forgets_overflows_at_good_steps() by "scale_update/-/a_good_step_keeps_the_overflows_since_a_move";
    fn forgets_a_share_at_growth() by "scale_update/-/growth_restarts_the_updates_of_a_share_and_not_its_overflows";
    fn takes_a_share_for_a_bound() by "scale_update/-/32768_in_65536_updates_may_overflow";
    fn diverges_though_tolerated() by "scale_update/-/a_tolerated_overflow_at_the_floor_is_no_divergence_and_the_next_is";
    fn counts_good_steps_through_tolerated_overflows() by "scale_update/-/a_tolerated_overflow_counts_no_good_steps_on";
    fn takes_the_first_magnitude() by "scale_update/-/the_largest_gradient_of_all_parts_and_verdicts_counts";
    fn learns_scaled_gradients() by "scale_update/-/what_is_learned_is_the_gradient_without_its_scale";
    fn learns_from_zeros() by "scale_update/-/gradients_that_are_all_zero_tell_nothing";
    fn learns_nothing_from_overflows() by "scale_update/-/an_overflow_counts_as_the_ceiling_whatever_is_beside_it";
    fn learns_whole_binades() by "scale_update/-/the_logarithm_of_any_gradient_is_rounded_down";
    fn averages_in_f32() by "scale_update/-/averages_are_kept_in_fixed_point_through_a_thousand_updates";
    fn rounds_averages_down() by "scale_update/-/every_rule_of_prediction_is_kept_to_the_bit";
    fn predicts_beyond_limits() by "scale_update/-/a_prediction_stays_within_the_limits";
    fn looks_at_four_findings_in_vain() by "scale_update/-/each_of_up_to_nine_findings_counts_wherever_it_stands";
}
