//! Each way to misread a rule is caught, by the case that names the sentence.

use crate::caught::caught;
use crate::wrong_rules::Misruled::{self, *};

#[track_caller]
fn misruled(wrong: Misruled, sentence: &str) {
    caught(&wrong, &format!("scale_update/-/{sentence}"));
}

#[test]
fn refilling_deepspeeds_hysteresis_at_each_good_step_is_caught() {
    misruled(RefillsAtEachGoodStep, "growth_alone_refills_deepspeeds_hysteresis");
    misruled(RefillsAtEachGoodStep, "deepspeed_moves_as_documented");
}

#[test]
fn tolerating_again_right_after_a_back_off_is_caught() {
    misruled(RestartsASpentHysteresis, "a_spent_hysteresis_backs_off_at_each_overflow");
    misruled(RestartsASpentHysteresis, "apex_hysteresis_moves_as_documented");
}

#[test]
fn counting_on_after_a_back_off_is_caught() {
    misruled(StaysSpentInARow, "a_back_off_starts_the_row_anew");
}

#[test]
fn a_row_that_survives_a_good_step_is_caught() {
    misruled(CountsTheRowThroughGoodSteps, "a_good_step_starts_the_row_anew");
}

#[test]
fn a_share_that_growth_wipes_out_is_caught() {
    let sentence = "growth_restarts_the_updates_of_a_share_and_not_its_overflows";
    misruled(ForgetsAShareAtGrowth, sentence);
}

#[test]
fn letting_an_exact_share_pass_is_caught() {
    misruled(TakesAShareForABound, "32768_in_65536_updates_may_overflow");
}

#[test]
fn diverging_at_a_tolerated_overflow_is_caught() {
    let sentence = "a_tolerated_overflow_at_the_floor_is_no_divergence_and_the_next_is";
    misruled(DivergesThoughTolerated, sentence);
}

#[test]
fn good_steps_that_survive_a_tolerated_overflow_are_caught() {
    let sentence = "a_tolerated_overflow_counts_no_good_steps_on";
    misruled(CountsGoodStepsThroughToleratedOverflows, sentence);
}

#[test]
fn forgetting_the_magnitude_of_a_part_is_caught() {
    let sentence = "the_largest_gradient_of_all_parts_and_verdicts_counts";
    misruled(TakesTheFirstMagnitude, sentence);
}

#[test]
fn learning_from_gradients_with_their_scale_is_caught() {
    misruled(LearnsScaledGradients, "what_is_learned_is_the_gradient_without_its_scale");
}

#[test]
fn learning_from_zeros_is_caught() {
    misruled(LearnsFromZeros, "gradients_that_are_all_zero_tell_nothing");
}

#[test]
fn learning_nothing_from_overflows_is_caught() {
    let sentence = "an_overflow_counts_as_the_ceiling_whatever_is_beside_it";
    misruled(LearnsNothingFromOverflows, sentence);
}

#[test]
fn learning_whole_binades_is_caught() {
    misruled(LearnsWholeBinades, "the_logarithm_of_any_gradient_is_rounded_down");
}

#[test]
fn averages_in_f32_are_caught() {
    misruled(AveragesInF32, "averages_are_kept_in_fixed_point_through_a_thousand_updates");
}

#[test]
fn averages_that_lose_a_bit_are_caught() {
    misruled(RoundsAveragesDown, "every_rule_of_prediction_is_kept_to_the_bit");
}

#[test]
fn a_prediction_beyond_the_limits_is_caught() {
    misruled(PredictsBeyondLimits, "a_prediction_stays_within_the_limits");
}

#[test]
fn findings_that_are_looked_at_in_vain_are_caught() {
    let sentence = "each_of_up_to_nine_findings_counts_wherever_it_stands";
    misruled(LooksAtFourFindingsInVain, sentence);
}
