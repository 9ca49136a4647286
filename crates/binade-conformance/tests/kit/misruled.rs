//! Each way to misread a rule is caught, by the case that names the sentence.

use crate::caught::caught;
use crate::wrong_rules::Misruled::*;

caught! {
    fn refilling_deepspeeds_hysteresis_at_each_good_step_is_caught() {
        RefillsAtEachGoodStep by
            "scale_update/-/growth_alone_refills_deepspeeds_hysteresis"
            "scale_update/-/deepspeed_moves_as_documented"
    }
    fn tolerating_again_right_after_a_back_off_is_caught() {
        RestartsASpentHysteresis by
            "scale_update/-/a_spent_hysteresis_backs_off_at_each_overflow"
            "scale_update/-/apex_hysteresis_moves_as_documented"
    }
    fn counting_on_after_a_back_off_is_caught() { StaysSpentInARow by "scale_update/-/a_back_off_starts_the_row_anew" }
    fn a_row_that_survives_a_good_step_is_caught() {
        CountsTheRowThroughGoodSteps by "scale_update/-/a_good_step_starts_the_row_anew"
    }
    fn a_share_that_growth_wipes_out_is_caught() {
        ForgetsAShareAtGrowth by "scale_update/-/growth_restarts_the_updates_of_a_share_and_not_its_overflows"
    }
    fn letting_an_exact_share_pass_is_caught() {
        TakesAShareForABound by "scale_update/-/32768_in_65536_updates_may_overflow"
    }
    fn diverging_at_a_tolerated_overflow_is_caught() {
        DivergesThoughTolerated by "scale_update/-/a_tolerated_overflow_at_the_floor_is_no_divergence_and_the_next_is"
    }
    fn good_steps_that_survive_a_tolerated_overflow_are_caught() {
        CountsGoodStepsThroughToleratedOverflows by "scale_update/-/a_tolerated_overflow_counts_no_good_steps_on"
    }
    fn forgetting_the_magnitude_of_a_part_is_caught() {
        TakesTheFirstMagnitude by "scale_update/-/the_largest_gradient_of_all_parts_and_verdicts_counts"
    }
    fn learning_from_gradients_with_their_scale_is_caught() {
        LearnsScaledGradients by "scale_update/-/what_is_learned_is_the_gradient_without_its_scale"
    }
    fn learning_from_zeros_is_caught() { LearnsFromZeros by "scale_update/-/gradients_that_are_all_zero_tell_nothing" }
    fn learning_nothing_from_overflows_is_caught() {
        LearnsNothingFromOverflows by "scale_update/-/an_overflow_counts_as_the_ceiling_whatever_is_beside_it"
    }
    fn learning_whole_binades_is_caught() {
        LearnsWholeBinades by "scale_update/-/the_logarithm_of_any_gradient_is_rounded_down"
    }
    fn averages_in_f32_are_caught() {
        AveragesInF32 by "scale_update/-/averages_are_kept_in_fixed_point_through_a_thousand_updates"
    }
    fn averages_that_lose_a_bit_are_caught() {
        RoundsAveragesDown by "scale_update/-/every_rule_of_prediction_is_kept_to_the_bit"
    }
    fn a_prediction_beyond_the_limits_is_caught() {
        PredictsBeyondLimits by "scale_update/-/a_prediction_stays_within_the_limits"
    }
    fn findings_that_are_looked_at_in_vain_are_caught() {
        LooksAtFourFindingsInVain by "scale_update/-/each_of_up_to_nine_findings_counts_wherever_it_stands"
    }
}
