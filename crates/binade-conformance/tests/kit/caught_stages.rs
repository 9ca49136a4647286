//! Each subject that joins, scales or goes on wrongly is caught, by the case that names its fault.

use crate::caught::{alone, caught};
use crate::wrong_stages::Adrift::*;

#[test]
fn scaling_in_the_type_of_the_loss_is_caught() {
    caught(&ScalesInTheTypeOfTheLoss, "scale/f16/a_loss_of_two_is_scaled_beyond_65504");
}

#[test]
fn leaving_the_last_element_of_a_tensor_scaled_is_caught() {
    caught(&LeavesTheLastElementUnscaled, "scale/bf16/all_of_33_elements");
}

#[test]
fn joining_all_as_any_and_any_as_all_is_caught() {
    caught(&JoinsAllAsAny, "merge/all/it_overflows_only_where_both_do");
    caught(&JoinsAnyAsAll, "merge/any/it_overflows_where_either_does");
}

#[test]
fn naming_the_later_overflow_is_caught() {
    alone(&NamesTheLaterOverflow, "merge/any/it_keeps_the_place_of_the_first_overflow");
    alone(&NamesTheLaterOverflow, "merge/all/it_keeps_the_place_of_the_first_overflow");
}

#[test]
fn forgetting_the_others_counts_is_caught() {
    alone(&ForgetsTheOthersCounts, "merge/any/it_adds_counts_up");
}

#[test]
fn keeping_its_own_magnitude_is_caught() {
    alone(&KeepsItsOwnMagnitude, "merge/all/it_takes_the_larger_magnitude");
}

#[test]
fn a_norm_of_nothing_is_caught() {
    alone(&MakesUpANorm, "merge/any/it_has_no_norm_where_none_was_measured");
}

#[test]
fn letting_a_halt_pass_is_caught() {
    alone(&LetsAHaltPass, "merge/any/it_is_halted_where_either_is");
}

#[test]
fn joining_into_clones_is_caught() {
    alone(&JoinsIntoClones, "merge/any/what_the_two_read_stays_as_it_was");
}

#[test]
fn going_by_the_iteration_before_is_caught() {
    caught(&GoesByTheIterationBefore, "iterate/-/each_iteration_goes_by_its_own_verdict");
}

#[test]
fn a_scale_that_stays_is_caught() {
    caught(&KeepsTheFirstScale, "iterate/-/the_scale_that_moved_is_the_next_ones");
}

#[test]
fn counting_a_pass_that_was_left_out_as_a_skip_is_caught() {
    caught(&CountsOnePassAsASkip, "iterate/-/a_pass_left_out_backs_off_and_skips_nothing");
}

#[test]
fn not_counting_an_iteration_without_a_pass_is_caught() {
    alone(&WantsAPass, "iterate/-/an_iteration_without_a_pass_is_a_good_one");
}

#[test]
fn reading_what_is_now_for_what_was_is_caught() {
    alone(&ReadsWhatIsNow, "iterate/-/an_earlier_clone_reads_what_it_did");
}

#[test]
fn forgetting_that_the_run_diverged_is_caught() {
    caught(&ForgetsThatItDiverged, "iterate/-/divergence_halts_what_follows_unread");
}

#[test]
fn a_device_that_is_never_ready_is_caught() {
    alone(&IsNeverReady, "iterate/-/what_was_read_is_ready");
}
