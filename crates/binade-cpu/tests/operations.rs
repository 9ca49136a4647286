//! Every operation, forward and backward, against its definition.

mod common;

use common::cases;

#[test]
fn forward_is_within_its_bound_of_the_definition_in_f64() {
    cases::all(5).iter().for_each(common::Case::check_forward);
    cases::all(24).iter().for_each(common::Case::check_forward);
}

#[test]
fn backward_is_what_central_differences_of_the_definition_say() {
    cases::all(4).iter().for_each(common::Case::check_backward);
}

#[test]
fn sixteen_bit_storage_gives_the_f32_result_rounded_once() {
    cases::all(9).iter().for_each(common::Case::check_storage);
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    // Large enough that every operation is cut into blocks: see `parallel::is_worth_threads`.
    cases::all(370).iter().for_each(common::Case::check_threads);
}
