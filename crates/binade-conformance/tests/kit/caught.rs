//! Each wrong subject is caught, by the case that names its fault.

use crate::faulty::{Fault, Faulty};
use crate::wrong::Wrong::*;
use crate::wrong_sets::Astray::*;
use binade_conformance::Runner;

/// Writes tests: each runs the cases of its fault's operation and element types, and wants the named ones among those that fail.
/// With `by_only`, no other may fail: without this case, the subject would pass.
macro_rules! caught {
    ($(fn $test:ident() { $($fault:ident $by:ident $($case:literal)+);+ })+) => {
        $(#[test]
        fn $test() {
            $($($crate::caught::fails(&$fault, $case, stringify!($by) == "by_only");)+)+
        })+
    };
}
pub(crate) use caught;

#[track_caller]
pub(crate) fn fails(wrong: &dyn Fault, case: &str, only: bool) {
    let siblings = case.rsplit_once('/').map_or(case, |(siblings, _)| siblings);
    let report = Runner::new().only(format!("{siblings}/")).run(&Faulty(wrong));
    let failed: Vec<&str> = report.failed().into_iter().map(|(name, _)| name).collect();
    assert!(failed.contains(&case), "{case} let it pass; these did not: {failed:#?}");
    assert!(!only || failed == [case], "{case} is not alone: {failed:#?}");
    assert!(report.passed() > 0, "one fault, and nothing at all passed");
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

caught! {
    fn flushing_subnormals_is_caught() { FlushesSubnormals by "cast/f32-f16/subnormals_are_kept" }
    fn rounding_half_up_is_caught() { RoundsHalfUp by "cast/f32-f16/a_tie_goes_to_the_even_neighbour" }
    fn a_nan_missed_in_the_last_element_is_caught() {
        MissesTheLastElement by "unscale/f16/a_nan_in_the_last_of_4097_is_found"
    }
    fn one_nan_that_is_missed_is_caught() {
        MissesOneNan by
            "unscale/bf16/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign"
            "unscale/f16/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign"
            "unscale/f32/every_nan_is_counted_as_one_quiet_or_signalling_of_either_sign"
    }
    fn a_last_element_left_scaled_is_caught() { LeavesTheLastElementScaled by "unscale/bf16/all_of_33_elements" }
    fn losing_the_gradients_of_an_imported_scale_is_caught() {
        LosesGradientsOfImportedScales by
            "unscale/bf16/divides_by_an_imported_scale_within_two_ulps"
            "unscale/f16/divides_by_an_imported_scale_within_two_ulps"
            "unscale/f32/divides_by_an_imported_scale_within_two_ulps"
    }
    fn naming_the_last_offender_is_caught() {
        NamesTheLastOffender by
            "unscale/f32/the_first_offender_is_of_the_lowest_parameter"
            "unscale/f32/the_first_offender_has_the_lowest_index"
    }
    fn unscaling_into_f16_is_caught() { UnscalesIntoF16 by "unscale/f16/what_scaling_rescued_is_not_lost_again" }
    fn checking_only_before_the_multiply_is_caught() {
        ChecksOnlyBefore by "unscale/f32/infinite_only_once_unscaled_is_an_overflow"
    }
    fn growing_one_step_late_is_caught() {
        GrowsOneStepLate by
            "scale_update/-/grows_after_3_good_steps_and_not_before"
            "scale_update/-/the_default_interval_is_kept_to_the_step"
    }
    fn halving_at_the_floor_is_caught() { HalvesAtTheFloor by "scale_update/-/an_overflow_at_the_floor_is_divergence" }
    fn stepping_on_an_overflow_is_caught() {
        StepsOnOverflow by
            "sgd/f16<-f16/an_infinity_leaves_every_bit_alone"
            "adam/bf16<-f32/a_nan_leaves_every_bit_alone"
    }
    fn decaying_weights_on_a_skipped_step_is_caught() {
        DecaysOnOverflow by "adam/f32<-f32/a_skipped_step_does_not_decay_weights"
    }
    fn counting_skipped_steps_is_caught() { CountsSkippedSteps by "adam/f32<-f16/a_skipped_step_is_not_counted" }
    fn unscaling_by_the_new_scale_is_caught() {
        UnscalesByTheNewScale by "sgd/f16<-f16/each_gradient_is_divided_by_the_scale_it_was_made_with"
    }
    fn forgetting_masters_is_caught() { ForgetsMasters by "sgd/bf16<-bf16/a_hundred_steps_of_1e_4_take_one_to_0_99" }
    fn an_epsilon_of_sixteen_bits_is_caught() {
        AddsEpsilonInF16 by "adam/f16<-f16/a_gradient_of_zero_moves_nothing_and_makes_no_nan"
    }
    fn summing_squares_in_f32_is_caught() {
        SumsSquaresInF32 by
            "norm/bf16/elements_of_1e25_do_not_overflow"
            "norm/f32/squares_of_1e_25_are_not_lost"
            "norm/f16/300007_equal_elements_keep_full_accuracy"
    }
    fn a_norm_that_passes_over_nans_is_caught() {
        PassesOverNans by "norm/f32/a_nan_or_an_infinity_anywhere_shows_and_raises_the_verdict"
    }
    fn a_norm_beyond_f32_that_raises_nothing_is_caught() {
        KeepsTheVerdictOfTheNorm by "norm/f16/a_norm_beyond_f32_is_infinite_and_raises_the_verdict"
    }
    fn a_norm_that_is_counted_as_an_element_is_caught() {
        CountsTheNorm by_only "norm/f16/a_norm_beyond_f32_is_named_as_a_norm_and_counts_no_element"
    }
    fn measuring_one_parameter_alone_is_caught() {
        MeasuresTheLastParameterAlone by "norm/bf16/all_parameters_count_together"
    }
    fn dividing_by_more_than_the_norm_is_caught() {
        DividesByMoreThanTheNorm by "clip/f32/a_norm_within_the_limit_keeps_every_bit"
    }
    fn clipping_each_parameter_alone_is_caught() {
        ClipsEachParameterAlone by "clip/f16/all_parameters_share_one_factor"
    }
    fn clipping_a_nan_to_the_limit_is_caught() { MakesANanTheLimit by "clip/bf16/clip_value_leaves_a_nan_a_nan" }
    fn forgetting_what_was_counted_when_clipping_is_caught() {
        ForgetsCountsWhenClipping by_only "clip/f16/all_that_a_pass_found_is_told_beside_the_norm"
    }
    fn clipping_before_unscaling_is_caught() {
        ClipsBeforeUnscaling by "clip/f32/the_limit_is_of_unscaled_gradients_whatever_the_scale"
    }
    fn a_limit_that_is_none_is_caught() {
        TakesAnyLimit by_only "clip/f16/a_limit_that_is_no_positive_number_is_an_invalid_argument"
    }
    fn adding_sets_that_differ_in_a_name_is_caught() {
        AddsByPlace by_only "accumulate/bf16/sets_that_differ_in_a_name_are_a_mismatch"
    }
    fn adding_the_rest_of_a_bad_micro_batch_is_caught() {
        AddsBadMicroBatches by
            "accumulate/f32/a_nan_keeps_its_whole_micro_batch_out"
            "accumulate/f16/a_diverged_scale_keeps_its_micro_batch_out"
    }
    fn a_sum_in_f16_is_caught() { SumsMicroBatchesInF16 by "accumulate/bf16/ones_add_up_beyond_2048" }
    fn sums_that_lose_subnormals_are_caught() {
        FlushesSums by_only "accumulate/f32/numbers_of_every_size_add_up" "accumulate/f16/numbers_of_every_size_add_up"
    }
    fn zeros_for_what_is_missing_are_caught() {
        ZeroesWhatIsMissing by "accumulate/f32/what_no_micro_batch_has_the_sum_has_not"
    }
    fn losing_what_follows_a_bad_start_is_caught() {
        LosesWhatFollowsABadStart by "accumulate/f16/an_infinity_keeps_its_whole_micro_batch_out"
    }
    fn rounding_to_nearest_where_luck_is_wanted_is_caught() {
        RoundsToNearest by "stochastic_cast/f32-bf16/a_value_goes_up_by_the_chance_of_what_is_cut_off"
    }
    fn one_word_for_four_neighbours_is_caught() {
        SharesOneWordAmongFour by "stochastic_cast/f32-e4m3/all_of_7_elements"
    }
    fn words_that_forget_the_step_are_caught() { ForgetsTheStep by "stochastic_cast/f32-f16/the_step_counts" }
    fn random_bits_that_another_parameter_reuses_are_caught() {
        ReusesBitsInEveryFourthParameter by_only "stochastic_cast/f32-bf16/the_parameter_counts"
    }
    fn a_nan_lost_in_one_lane_is_caught() {
        LosesNanInOneLane by "cast/e4m3-f32/a_value_is_rounded_alike_in_every_lane"
    }
    fn a_cast_of_the_first_of_many_tensors_is_caught() {
        CastsTheFirstOfMany by "cast/f32-bf16/many_tensors_at_once_are_cast_each_by_itself"
    }
    fn overflow_to_infinity_where_it_saturates_is_caught() {
        OverflowsWhereItSaturates by "cast/f32-f16/overflow_to_the_largest_is_given_or_refused"
    }
    fn reading_from_the_start_of_a_buffer_is_caught() {
        ReadsFromTheStartOfTheBuffer by
            "cast/e5m2-f16/starts_anywhere_in_a_buffer"
            "norm/f16/starts_anywhere_in_a_buffer"
    }
    fn reading_to_the_end_of_a_buffer_is_caught() {
        ReadsToTheEndOfTheBuffer by "sum/f16/starts_anywhere_in_a_buffer" "scale/f32/starts_anywhere_in_a_buffer"
    }
}
