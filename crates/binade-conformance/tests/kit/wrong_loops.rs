//! Subjects that go wrong, in one way each, over whole iterations.

use crate::caught::{alone, caught};
use crate::faulty::Fault;
use crate::toy::Plain;
use crate::toy_loops::{self, Misled, Misled::*};
use binade_conformance::{Collected, Coordinates, Delayed, Led, Losses, Refusal, Unscaled, Walked};
use binade_core::Named;
use binade_grad_scaler::{ScaleState, Step};

impl Fault for Misled {
    fn sparse(
        &self,
        grads: Vec<Named<Coordinates>>,
        scale: ScaleState,
    ) -> Result<Unscaled<Plain>, Refusal> {
        toy_loops::sparse(Some(*self), grads, scale)
    }

    fn delayed(&self, window: Delayed<Plain>) -> Result<Collected<Plain>, Refusal> {
        toy_loops::delayed(Some(*self), window)
    }

    fn follow(&self, run: Led<Plain>) -> Result<Walked<Plain>, Refusal> {
        toy_loops::follow(Some(*self), run)
    }

    fn update_each(&self, losses: Losses<Plain>) -> Result<[Step; 2], Refusal> {
        toy_loops::update_each(Some(*self), losses)
    }
}

#[test]
fn duplicates_added_in_f16_are_caught() {
    caught(&AddsDuplicatesInTheirOwnType, "sparse/f16/rows_of_one_coordinate_are_added_in_f32");
    caught(&AddsDuplicatesInTheirOwnType, "sparse/bf16/in_their_own_type_a_sum_is_rounded_once");
}

#[test]
fn a_check_before_duplicates_are_added_is_caught() {
    let case = "sparse/f16/duplicates_that_overflow_when_they_are_added_are_found";
    caught(&ChecksBeforeDuplicatesAreAdded, case);
}

#[test]
fn dimensions_in_the_wrong_order_are_caught() {
    let case = "sparse/f32/rows_no_coordinate_lists_are_zeros_and_the_last_dimension_runs_fastest";
    caught(&RunsTheFirstDimensionFastest, case);
}

#[test]
fn an_index_that_wraps_around_is_caught() {
    let case = "sparse/f16/an_index_beyond_its_dimension_is_an_invalid_argument";
    alone(&TakesAnyIndex, case);
}

#[test]
fn a_loss_scaled_by_the_new_scale_is_caught() {
    let case = "delayed/f32/each_loss_is_scaled_by_the_scale_the_window_opened_with";
    alone(&ScalesByTheNewScale, case);
}

#[test]
fn delayed_gradients_divided_by_the_new_scale_are_caught() {
    let case = "delayed/f16/the_sum_is_divided_once_by_the_scale_the_window_opened_with";
    caught(&UnscalesTheSumByTheNewScale, case);
    let case = "delayed/bf16/buffers_are_divided_once_by_the_scale_the_window_opened_with";
    caught(&UnscalesTheSumByTheNewScale, case);
}

#[test]
fn scaled_gradients_added_in_f16_are_caught() {
    caught(&SumsPassesInF16, "delayed/f16/ones_add_up_beyond_2048");
    caught(&SumsPassesInF16, "delayed/f16/sums_beyond_f16_are_no_overflow");
}

#[test]
fn adding_the_rest_of_a_bad_pass_is_caught() {
    caught(&AddsBadPasses, "delayed/f32/a_pass_that_overflows_adds_nothing");
}

#[test]
fn a_sum_that_nobody_looks_at_is_caught() {
    caught(&LooksAtNoSum, "delayed/f32/a_sum_that_is_not_finite_skips_as_the_part_sum");
    caught(&LooksAtNoSum, "delayed/bf16/a_sum_that_is_infinite_only_once_divided_skips");
}

#[test]
fn a_bad_pass_that_skips_nothing_is_caught() {
    caught(&LooksAtTheSumAlone, "delayed/f16/a_pass_that_overflows_is_named_and_skips_the_window");
}

#[test]
fn applying_a_recorded_skip_is_caught() {
    let case = "follow/-/a_recorded_skip_is_skipped_though_its_gradients_are_finite";
    caught(&AppliesRecordedSkips, case);
    caught(&AppliesRecordedSkips, "follow/-/two_runs_that_follow_one_recording_skip_alike");
}

#[test]
fn stepping_on_an_overflow_that_was_not_recorded_is_caught() {
    let case = "follow/-/an_overflow_that_the_recording_has_not_skips_and_is_told";
    caught(&StepsOnOverflowsOfItsOwn, case);
    caught(&TellsOfNoParting, case);
}

#[test]
fn following_skips_and_not_scales_is_caught() {
    caught(&KeepsItsOwnScale, "follow/-/the_scale_takes_the_recorded_values");
}

#[test]
fn what_goes_wrong_after_a_recording_is_caught() {
    alone(&StaysHaltedAfterTheEnd, "follow/-/a_skip_recorded_last_halts_nothing_after_it");
    caught(&StartsAnewAfterTheEnd, "follow/-/after_its_end_the_run_goes_on_by_its_own_rule");
}

#[test]
fn moving_every_scale_by_any_losss_overflow_is_caught() {
    let case = "update_each/window/an_overflow_backs_off_its_own_losss_scale_alone";
    caught(&MovesEveryScale, case);
    caught(&MovesEveryScale, "update_each/apart/of_steps_apart_each_is_its_own_losss");
}

#[test]
fn a_sum_that_one_scale_alone_answers_for_is_caught() {
    alone(&GivesTheSumToTheFirst, "update_each/window/a_sum_that_overflows_backs_off_both");
}

#[test]
fn a_norm_that_backs_scales_off_is_caught() {
    let case = "update_each/window/a_norm_that_is_not_finite_skips_and_backs_off_none";
    alone(&TakesTheNormForAnOverflow, case);
}

#[test]
fn what_is_left_out_taken_for_a_skip_is_caught() {
    let case = "update_each/window/a_loss_that_is_left_out_backs_off_and_has_skipped_nothing";
    alone(&CountsWhatIsLeftOutAsASkip, case);
}
