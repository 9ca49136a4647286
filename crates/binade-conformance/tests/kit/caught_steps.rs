//! Each subject that steps wrongly is caught, by the case that names its fault.

use crate::caught::caught;
use crate::wrong_steps::Amiss::*;

caught! {
    fn going_by_the_verdict_of_the_turn_before_is_caught() {
        GoesByTheVerdictBefore by
            "sgd/f16<-f16/each_step_goes_by_its_own_verdict"
            "adam/bf16<-f32/each_step_goes_by_its_own_verdict"
    }
    fn stepping_on_two_flags_is_caught() {
        StepsOnTwoFlags by_only
            "sgd/f32<-f32/two_raised_flags_skip_as_one_does"
            "adam/f16<-bf16/two_raised_flags_skip_as_one_does"
    }
    fn passing_over_what_is_beside_is_caught() {
        PassesOverWhatIsBeside by_only "sgd/bf16<-bf16/an_overflow_beside_it_leaves_every_bit_alone"
    }
    fn dropping_the_last_element_is_caught() {
        DropsTheLastElement by "sgd/f32<-f32/all_of_33_elements" "adam/f16<-f16/all_of_257_elements"
    }
    fn dropping_the_last_element_of_five_is_caught() {
        DropsTheLastOfFive by "sgd/f32<-f32/all_of_5_elements" "adam/bf16<-bf16/all_of_5_elements"
    }
    fn forgetting_the_last_moment_of_five_is_caught() {
        ForgetsTheLastMomentOfFive by_only "sgd/bf16<-bf16/all_of_5_elements"
    }
    fn forgetting_the_last_master_of_five_is_caught() {
        ForgetsTheLastMasterOfFive by_only "sgd/bf16<-bf16/all_of_5_elements" "adam/f16<-f16/all_of_5_elements"
    }
    fn rounding_halves_away_from_zero_is_caught() {
        RoundsHalvesAway by "sgd/bf16<-f32/a_master_halfway_between_two_parameters_becomes_the_even_one"
    }
    fn stepping_with_unclipped_gradients_is_caught() {
        StepsWithUnclippedGradients by "sgd/f16<-f32/a_gradient_is_clipped_by_norm_in_f32_before_the_step"
    }
    fn rounding_the_limit_to_the_gradients_type_is_caught() {
        RoundsTheLimitToTheGradientsType by_only "sgd/f32<-f16/a_gradient_is_clipped_by_value_in_f32_before_the_step"
    }
    fn a_norm_that_raises_nothing_before_a_step_is_caught() {
        MeasuresNothingBeforeTheStep by_only "sgd/f32<-bf16/a_norm_that_is_not_finite_leaves_every_bit_alone"
    }
    fn one_nan_taken_for_a_number_is_caught() {
        TakesOneNanForANumber by_only
            "adam/bf16<-bf16/every_nan_and_infinity_leaves_every_bit_alone"
            "adam/f16<-f16/every_nan_and_infinity_leaves_every_bit_alone"
            "adam/f32<-f32/every_nan_and_infinity_leaves_every_bit_alone"
    }
    fn flushing_parameters_is_caught() {
        FlushesParameters by_only "sgd/f32<-f32/a_gradient_of_zero_keeps_subnormal_and_largest_parameters"
    }
    fn matching_by_place_is_caught() {
        MatchesByPlace by "sgd/f16<-f16/gradients_are_matched_by_name_whatever_their_order"
    }
    fn stepping_without_any_gradient_is_caught() {
        StepsWithoutGradients by_only "adam/f16<-f16/a_step_without_any_gradient_is_refused_unless_it_is_skipped"
    }
    fn ageing_without_a_gradient_is_caught() {
        AgesWithoutAGradient by_only "adam/bf16<-bf16/a_parameter_without_a_gradient_does_not_age"
    }
    fn gradients_that_fit_no_parameter_are_caught() {
        PassesOverStrangers by_only "sgd/f32<-f32/a_gradient_without_a_parameter_is_a_mismatch";
        TakesTheSecondOfOneName by_only "sgd/f32<-f32/a_second_gradient_of_one_name_is_a_mismatch";
        FitsGradientsToTheirParameters by_only "sgd/f32<-f32/a_gradient_of_another_length_is_a_mismatch"
    }
}
