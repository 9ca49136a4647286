//! Each wrong subject is caught, by the case that names its fault.

use crate::faulty::{Fault, Faulty};
use crate::wrong::Wrong::*;
use crate::wrong_sets::Astray::*;
use binade_conformance::{Report, Runner};

/// Runs the cases of the fault's operation and element types, and wants this one among those that fail.
#[track_caller]
pub(crate) fn caught(wrong: &dyn Fault, case: &str) {
    let report = siblings(wrong, case);
    let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
    assert!(failed.contains(&case), "{case} let it pass; these did not: {failed:#?}");
    assert!(!report.is_success());
    assert!(report.passed() > 0, "one fault, and nothing at all passed");
}

/// As [`caught`], and wants no other to fail: without this case, the subject would pass.
#[track_caller]
pub(crate) fn alone(wrong: &dyn Fault, case: &str) {
    let report = siblings(wrong, case);
    let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
    assert_eq!(failed, [case]);
    assert!(report.passed() > 0, "one fault, and nothing at all passed");
}

fn siblings(wrong: &dyn Fault, case: &str) -> Report {
    let siblings = case.rsplit_once('/').map_or(case, |(siblings, _)| siblings);
    Runner::new().only(format!("{siblings}/")).run(&Faulty(wrong))
}

#[test]
fn flushing_subnormals_is_caught() {
    caught(&FlushesSubnormals, "cast/f32-f16/subnormals_are_kept");
}

#[test]
fn rounding_half_up_is_caught() {
    caught(&RoundsHalfUp, "cast/f32-f16/a_tie_goes_to_the_even_neighbour");
}

#[test]
fn a_nan_missed_in_the_last_element_is_caught() {
    caught(&MissesTheLastElement, "unscale/f16/a_nan_in_the_last_of_4097_is_found");
}

#[test]
fn one_nan_that_is_missed_is_caught() {
    for dtype in ["bf16", "f16", "f32"] {
        let sentence = "every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign";
        caught(&MissesOneNan, &format!("unscale/{dtype}/{sentence}"));
    }
}

#[test]
fn a_last_element_left_scaled_is_caught() {
    caught(&LeavesTheLastElementScaled, "unscale/bf16/all_of_33_elements");
}

#[test]
fn losing_the_gradients_of_an_imported_scale_is_caught() {
    for dtype in ["bf16", "f16", "f32"] {
        let case = format!("unscale/{dtype}/divides_by_an_imported_scale_within_two_ulps");
        caught(&LosesGradientsOfImportedScales, &case);
    }
}

#[test]
fn naming_the_last_offender_is_caught() {
    caught(&NamesTheLastOffender, "unscale/f32/the_first_offender_is_of_the_lowest_parameter");
    caught(&NamesTheLastOffender, "unscale/f32/the_first_offender_has_the_lowest_index");
}

#[test]
fn unscaling_into_f16_is_caught() {
    caught(&UnscalesIntoF16, "unscale/f16/what_scaling_rescued_is_not_lost_again");
}

#[test]
fn checking_only_before_the_multiply_is_caught() {
    caught(&ChecksOnlyBefore, "unscale/f32/infinite_only_once_unscaled_is_an_overflow");
}

#[test]
fn growing_one_step_late_is_caught() {
    caught(&GrowsOneStepLate, "scale_update/-/grows_after_3_good_steps_and_not_before");
    caught(&GrowsOneStepLate, "scale_update/-/the_default_interval_is_kept_to_the_step");
}

#[test]
fn halving_at_the_floor_is_caught() {
    caught(&HalvesAtTheFloor, "scale_update/-/an_overflow_at_the_floor_is_divergence");
}

#[test]
fn stepping_on_an_overflow_is_caught() {
    caught(&StepsOnOverflow, "sgd/f16<-f16/an_infinity_leaves_every_bit_alone");
    caught(&StepsOnOverflow, "adam/bf16<-f32/a_nan_leaves_every_bit_alone");
}

#[test]
fn decaying_weights_on_a_skipped_step_is_caught() {
    caught(&DecaysOnOverflow, "adam/f32<-f32/a_skipped_step_does_not_decay_weights");
}

#[test]
fn counting_skipped_steps_is_caught() {
    caught(&CountsSkippedSteps, "adam/f32<-f16/a_skipped_step_is_not_counted");
}

#[test]
fn unscaling_by_the_new_scale_is_caught() {
    caught(
        &UnscalesByTheNewScale,
        "sgd/f16<-f16/each_gradient_is_divided_by_the_scale_it_was_made_with",
    );
}

#[test]
fn forgetting_masters_is_caught() {
    caught(&ForgetsMasters, "sgd/bf16<-bf16/a_hundred_steps_of_1e_4_take_one_to_0_99");
}

#[test]
fn an_epsilon_of_sixteen_bits_is_caught() {
    caught(&AddsEpsilonInF16, "adam/f16<-f16/a_gradient_of_zero_moves_nothing_and_makes_no_nan");
}

#[test]
fn summing_squares_in_f32_is_caught() {
    caught(&SumsSquaresInF32, "norm/bf16/elements_of_1e25_do_not_overflow");
    caught(&SumsSquaresInF32, "norm/f32/squares_of_1e_25_are_not_lost");
    caught(&SumsSquaresInF32, "norm/f16/300007_equal_elements_keep_full_accuracy");
}

#[test]
fn a_norm_that_passes_over_nans_is_caught() {
    caught(&PassesOverNans, "norm/f32/a_nan_or_an_infinity_anywhere_shows_and_raises_the_verdict");
}

#[test]
fn a_norm_beyond_f32_that_raises_nothing_is_caught() {
    let case = "norm/f16/a_norm_beyond_f32_is_infinite_and_raises_the_verdict";
    caught(&KeepsTheVerdictOfTheNorm, case);
}

#[test]
fn a_norm_that_is_counted_as_an_element_is_caught() {
    let case = "norm/f16/a_norm_beyond_f32_is_named_as_a_norm_and_counts_no_element";
    alone(&CountsTheNorm, case);
}

#[test]
fn measuring_one_parameter_alone_is_caught() {
    caught(&MeasuresTheLastParameterAlone, "norm/bf16/all_parameters_count_together");
}

#[test]
fn dividing_by_more_than_the_norm_is_caught() {
    caught(&DividesByMoreThanTheNorm, "clip/f32/a_norm_within_the_limit_keeps_every_bit");
}

#[test]
fn clipping_each_parameter_alone_is_caught() {
    caught(&ClipsEachParameterAlone, "clip/f16/all_parameters_share_one_factor");
}

#[test]
fn clipping_a_nan_to_the_limit_is_caught() {
    caught(&MakesANanTheLimit, "clip/bf16/clip_value_leaves_a_nan_a_nan");
}

#[test]
fn forgetting_what_was_counted_when_clipping_is_caught() {
    alone(&ForgetsCountsWhenClipping, "clip/f16/all_that_a_pass_found_is_told_beside_the_norm");
}

#[test]
fn clipping_before_unscaling_is_caught() {
    caught(&ClipsBeforeUnscaling, "clip/f32/the_limit_is_of_unscaled_gradients_whatever_the_scale");
}

#[test]
fn a_limit_that_is_none_is_caught() {
    alone(&TakesAnyLimit, "clip/f16/a_limit_that_is_no_positive_number_is_an_invalid_argument");
}

#[test]
fn adding_sets_that_differ_in_a_name_is_caught() {
    alone(&AddsByPlace, "accumulate/bf16/sets_that_differ_in_a_name_are_a_mismatch");
}

#[test]
fn adding_the_rest_of_a_bad_micro_batch_is_caught() {
    caught(&AddsBadMicroBatches, "accumulate/f32/a_nan_keeps_its_whole_micro_batch_out");
    caught(&AddsBadMicroBatches, "accumulate/f16/a_diverged_scale_keeps_its_micro_batch_out");
}

#[test]
fn a_sum_in_f16_is_caught() {
    caught(&SumsMicroBatchesInF16, "accumulate/bf16/ones_add_up_beyond_2048");
}

#[test]
fn sums_that_lose_subnormals_are_caught() {
    alone(&FlushesSums, "accumulate/f32/numbers_of_every_size_add_up");
    alone(&FlushesSums, "accumulate/f16/numbers_of_every_size_add_up");
}

#[test]
fn zeros_for_what_is_missing_are_caught() {
    caught(&ZeroesWhatIsMissing, "accumulate/f32/what_no_micro_batch_has_the_sum_has_not");
}

#[test]
fn losing_what_follows_a_bad_start_is_caught() {
    let case = "accumulate/f16/an_infinity_keeps_its_whole_micro_batch_out";
    caught(&LosesWhatFollowsABadStart, case);
}

#[test]
fn rounding_to_nearest_where_luck_is_wanted_is_caught() {
    let case = "stochastic_cast/f32-bf16/a_value_goes_up_by_the_chance_of_what_is_cut_off";
    caught(&RoundsToNearest, case);
}

#[test]
fn one_word_for_four_neighbours_is_caught() {
    caught(&SharesOneWordAmongFour, "stochastic_cast/f32-e4m3/all_of_7_elements");
}

#[test]
fn words_that_forget_the_step_are_caught() {
    caught(&ForgetsTheStep, "stochastic_cast/f32-f16/the_step_counts");
}

#[test]
fn random_bits_that_another_parameter_reuses_are_caught() {
    alone(&ReusesBitsInEveryFourthParameter, "stochastic_cast/f32-bf16/the_parameter_counts");
}

#[test]
fn a_nan_lost_in_one_lane_is_caught() {
    caught(&LosesNanInOneLane, "cast/e4m3-f32/a_value_is_rounded_alike_in_every_lane");
}

#[test]
fn a_cast_of_the_first_of_many_tensors_is_caught() {
    caught(&CastsTheFirstOfMany, "cast/f32-bf16/many_tensors_at_once_are_cast_each_by_itself");
}

#[test]
fn overflow_to_infinity_where_it_saturates_is_caught() {
    caught(&OverflowsWhereItSaturates, "cast/f32-f16/overflow_to_the_largest_is_given_or_refused");
}

#[test]
fn reading_from_the_start_of_a_buffer_is_caught() {
    caught(&ReadsFromTheStartOfTheBuffer, "cast/e5m2-f16/starts_anywhere_in_a_buffer");
    caught(&ReadsFromTheStartOfTheBuffer, "norm/f16/starts_anywhere_in_a_buffer");
}

#[test]
fn reading_to_the_end_of_a_buffer_is_caught() {
    caught(&ReadsToTheEndOfTheBuffer, "sum/f16/starts_anywhere_in_a_buffer");
    caught(&ReadsToTheEndOfTheBuffer, "scale/f32/starts_anywhere_in_a_buffer");
}

#[test]
fn a_panic_is_a_failure_of_its_case_and_stops_no_other() {
    let report = Runner::new().only("/bf16").run(&Faulty(&Panics));
    let failed = report.failed();
    // A run of its own casts too.
    let run = "convergence/bf16/two_hundred_steps_track_the_loss_of_f32";
    assert!(failed.iter().all(|(name, _)| name.starts_with("cast/") || *name == run), "{failed:?}");
    assert!(failed[0].1.got.contains("not today"), "{:?}", failed[0]);
    assert!(report.passed() > 0);
}
