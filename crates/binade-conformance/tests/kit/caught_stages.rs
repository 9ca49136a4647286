//! Each subject that joins, scales or goes on wrongly is caught, by the case that names its fault.

use crate::caught::caught;
use crate::wrong_stages::Adrift::*;

caught! {
    fn scaling_in_the_type_of_the_loss_is_caught() {
        ScalesInTheTypeOfTheLoss by "scale/f16/a_loss_of_two_is_scaled_beyond_65504"
    }
    fn leaving_the_last_element_of_a_tensor_scaled_is_caught() {
        LeavesTheLastElementUnscaled by "scale/bf16/all_of_33_elements"
    }
    fn joining_all_as_any_and_any_as_all_is_caught() {
        JoinsAllAsAny by "merge/all/it_overflows_only_where_both_do";
        JoinsAnyAsAll by "merge/any/it_overflows_where_either_does"
    }
    fn naming_the_later_overflow_is_caught() {
        NamesTheLaterOverflow by_only
            "merge/any/it_keeps_the_place_of_the_first_overflow"
            "merge/all/it_keeps_the_place_of_the_first_overflow"
    }
    fn forgetting_the_others_counts_is_caught() { ForgetsTheOthersCounts by_only "merge/any/it_adds_counts_up" }
    fn keeping_its_own_magnitude_is_caught() { KeepsItsOwnMagnitude by_only "merge/all/it_takes_the_larger_magnitude" }
    fn a_norm_of_nothing_is_caught() { MakesUpANorm by_only "merge/any/it_has_no_norm_where_none_was_measured" }
    fn letting_a_halt_pass_is_caught() { LetsAHaltPass by_only "merge/any/it_is_halted_where_either_is" }
    fn joining_into_clones_is_caught() { JoinsIntoClones by_only "merge/any/what_the_two_read_stays_as_it_was" }
    fn going_by_the_iteration_before_is_caught() {
        GoesByTheIterationBefore by "iterate/-/each_iteration_goes_by_its_own_verdict"
    }
    fn a_scale_that_stays_is_caught() { KeepsTheFirstScale by "iterate/-/the_scale_that_moved_is_the_next_ones" }
    fn counting_a_pass_that_was_left_out_as_a_skip_is_caught() {
        CountsOnePassAsASkip by "iterate/-/a_pass_left_out_backs_off_and_skips_nothing"
    }
    fn not_counting_an_iteration_without_a_pass_is_caught() {
        WantsAPass by_only "iterate/-/an_iteration_without_a_pass_is_a_good_one"
    }
    fn reading_what_is_now_for_what_was_is_caught() {
        ReadsWhatIsNow by_only "iterate/-/an_earlier_clone_reads_what_it_did"
    }
    fn forgetting_that_the_run_diverged_is_caught() {
        ForgetsThatItDiverged by "iterate/-/divergence_halts_what_follows_unread"
    }
    fn a_device_that_is_never_ready_is_caught() { IsNeverReady by_only "iterate/-/what_was_read_is_ready" }
}
