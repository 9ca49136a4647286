//! Each subject that steps wrongly is caught, by the case that names its fault.

use crate::caught::{alone, caught};
use crate::wrong_steps::Amiss::*;

#[test]
fn going_by_the_verdict_of_the_turn_before_is_caught() {
    caught(&GoesByTheVerdictBefore, "sgd/f16<-f16/each_step_goes_by_its_own_verdict");
    caught(&GoesByTheVerdictBefore, "adam/bf16<-f32/each_step_goes_by_its_own_verdict");
}

#[test]
fn stepping_on_two_flags_is_caught() {
    alone(&StepsOnTwoFlags, "sgd/f32<-f32/two_raised_flags_skip_as_one_does");
    alone(&StepsOnTwoFlags, "adam/f16<-bf16/two_raised_flags_skip_as_one_does");
}

#[test]
fn passing_over_what_is_beside_is_caught() {
    let case = "sgd/bf16<-bf16/an_overflow_beside_it_leaves_every_bit_alone";
    alone(&PassesOverWhatIsBeside, case);
}

#[test]
fn dropping_the_last_element_is_caught() {
    caught(&DropsTheLastElement, "sgd/f32<-f32/all_of_33_elements");
    caught(&DropsTheLastElement, "adam/f16<-f16/all_of_257_elements");
}

#[test]
fn dropping_the_last_element_of_five_is_caught() {
    caught(&DropsTheLastOfFive, "sgd/f32<-f32/all_of_5_elements");
    caught(&DropsTheLastOfFive, "adam/bf16<-bf16/all_of_5_elements");
}

#[test]
fn forgetting_the_last_moment_of_five_is_caught() {
    alone(&ForgetsTheLastMomentOfFive, "sgd/bf16<-bf16/all_of_5_elements");
}

#[test]
fn forgetting_the_last_master_of_five_is_caught() {
    alone(&ForgetsTheLastMasterOfFive, "sgd/bf16<-bf16/all_of_5_elements");
    alone(&ForgetsTheLastMasterOfFive, "adam/f16<-f16/all_of_5_elements");
}

#[test]
fn rounding_halves_away_from_zero_is_caught() {
    let case = "sgd/bf16<-f32/a_master_halfway_between_two_parameters_becomes_the_even_one";
    caught(&RoundsHalvesAway, case);
}

#[test]
fn stepping_with_unclipped_gradients_is_caught() {
    let case = "sgd/f16<-f32/a_gradient_is_clipped_by_norm_in_f32_before_the_step";
    caught(&StepsWithUnclippedGradients, case);
}

#[test]
fn rounding_the_limit_to_the_gradients_type_is_caught() {
    let case = "sgd/f32<-f16/a_gradient_is_clipped_by_value_in_f32_before_the_step";
    alone(&RoundsTheLimitToTheGradientsType, case);
}

#[test]
fn a_norm_that_raises_nothing_before_a_step_is_caught() {
    let case = "sgd/f32<-bf16/a_norm_that_is_not_finite_leaves_every_bit_alone";
    alone(&MeasuresNothingBeforeTheStep, case);
}

#[test]
fn one_nan_taken_for_a_number_is_caught() {
    for dtypes in ["bf16<-bf16", "f16<-f16", "f32<-f32"] {
        let case = format!("adam/{dtypes}/every_nan_and_infinity_leaves_every_bit_alone");
        alone(&TakesOneNanForANumber, &case);
    }
}

#[test]
fn flushing_parameters_is_caught() {
    let case = "sgd/f32<-f32/a_gradient_of_zero_keeps_subnormal_and_largest_parameters";
    alone(&FlushesParameters, case);
}

#[test]
fn matching_by_place_is_caught() {
    caught(&MatchesByPlace, "sgd/f16<-f16/gradients_are_matched_by_name_whatever_their_order");
}

#[test]
fn gradients_that_fit_no_parameter_are_caught() {
    for (wrong, sentence) in [
        (PassesOverStrangers, "a_gradient_without_a_parameter_is_a_mismatch"),
        (TakesTheSecondOfOneName, "a_second_gradient_of_one_name_is_a_mismatch"),
        (FitsGradientsToTheirParameters, "a_gradient_of_another_length_is_a_mismatch"),
    ] {
        alone(&wrong, &format!("sgd/f32<-f32/{sentence}"));
    }
}

#[test]
fn stepping_without_any_gradient_is_caught() {
    let case = "adam/f16<-f16/a_step_without_any_gradient_is_refused_unless_it_is_skipped";
    alone(&StepsWithoutGradients, case);
}

#[test]
fn ageing_without_a_gradient_is_caught() {
    alone(&AgesWithoutAGradient, "adam/bf16<-bf16/a_parameter_without_a_gradient_does_not_age");
}
