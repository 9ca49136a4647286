//! Subjects that keep masters wrongly, in one way each.

use crate::caught::caught;
use crate::faulty::Fault;
use crate::toy::Plain;
use crate::toy_stores::{Careless, Careless::*, train_by};
use binade_conformance::{Refusal, Turn};
use binade_core::Named;
use binade_master_weights::MasterStore;

impl Fault for Careless {
    fn train_by(
        &self,
        store: MasterStore,
        params: Vec<Named<Plain>>,
        turns: Vec<Turn<Plain>>,
    ) -> Result<Vec<Named<Plain>>, Refusal> {
        train_by(Some(*self), store, params, turns)
    }
}

#[test]
fn a_copy_to_nearest_even_beside_a_remainder_is_caught() {
    caught(&SendsTiesToEven, "remainder/bf16/a_tie_goes_away_from_zero");
}

#[test]
fn halves_put_together_without_the_carry_are_caught() {
    caught(&ForgetsTheCarry, "remainder/bf16/a_tie_comes_back_from_its_remainder");
    caught(&ForgetsTheCarry, "remainder/bf16/a_master_beyond_the_largest_comes_back");
}

#[test]
fn forgetting_the_compensation_is_caught() {
    let case = "kahan/bf16/ties_go_to_even_and_what_is_cut_off_is_kept";
    caught(&ForgetsTheCompensation, case);
    caught(&ForgetsTheCompensation, "kahan/f16/sixty_four_updates_of_2_to_the_minus_12");
}

#[test]
fn infinity_less_infinity_is_caught() {
    caught(&CompensatesInfinity, "kahan/f16/what_overflows_stays_infinite");
}

#[test]
fn rounding_halves_away_in_one_lane_is_caught() {
    let case = "kahan/bf16/a_parameter_halfway_between_two_becomes_the_even_one";
    caught(&RoundsHalvesAwayInOneLane, case);
}

#[test]
fn rounding_halves_of_compensations_away_is_caught() {
    let case = "kahan/f16/a_compensation_halfway_between_two_becomes_the_even_one";
    caught(&RoundsHalvesOfCompensationsAway, case);
}

#[test]
fn reusing_random_words_is_caught() {
    caught(&ReusesRandomWords, "stochastic/bf16/ten_steps_of_257_elements");
}

#[test]
fn one_stream_of_words_for_all_parameters_is_caught() {
    caught(&NumbersNobody, "stochastic/f16/parameters_of_a_set_have_words_of_their_own");
}

#[test]
fn drawing_on_a_skipped_step_is_caught() {
    caught(&DrawsOnSkippedSteps, "stochastic/bf16/a_skipped_step_never_was");
}

#[test]
fn keeping_the_first_exponent_is_caught() {
    caught(
        &KeepsTheFirstExponent,
        "scaled_f16/bf16/one_outlier_takes_bits_and_they_do_not_come_back",
    );
}

#[test]
fn a_largest_number_that_is_overlooked_is_caught() {
    let case = "scaled_f16/f16/the_largest_is_found_in_each_place_and_in_no_other_tensor";
    caught(&FindsTheLargestOfSeven, case);
}

#[test]
fn stores_that_adam_passes_over_are_caught() {
    for part in ["stochastic/f16", "remainder/bf16", "kahan/f16", "scaled_f16/bf16"] {
        caught(&HasNoStoreForAdam, &format!("{part}/ten_steps_of_257_elements"));
        let by_any_arithmetic = "a_rule_that_divides_saves_as_one_that_does_not";
        caught(&HasNoStoreForAdam, &format!("{part}/{by_any_arithmetic}"));
    }
}

#[test]
fn sending_more_than_ties_away_is_caught() {
    let case = "remainder/bf16/a_master_beside_a_tie_goes_to_the_nearer_parameter";
    caught(&SendsMoreThanTiesAway, case);
}

#[test]
fn dropping_small_numbers_is_caught() {
    caught(&DropsSmallNumbers, "stochastic/f16/numbers_of_every_size_meet_in_every_lane");
    let sentence = "less_than_a_hundredth_of_the_smallest_number_comes_up_at_times";
    caught(&DropsSmallNumbers, &format!("stochastic/f16/{sentence}"));
}
