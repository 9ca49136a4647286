//! `conformance_tests!`: its tests run, and what they call fails where it should.

use super::toy::{Nothing, Stores, Toy};
use crate::{CaseGroup, Runner, testing};

crate::conformance_tests!(toy, Toy, suites = [Storage, Autocast, GradScaler, Sum]);

crate::conformance_tests!(
    shifts,
    Stores(1),
    suites = [Storage],
    known = [("bits/f16/", "our f16 is one higher")],
);

crate::conformance_tests!(
    stores,
    Stores(0),
    suites = [Storage, Sum],
    excused = [("sum/", "it only stores")],
    required = true,
);

#[test]
#[should_panic(expected = "no case passes")]
fn a_subject_that_implements_nothing_fails_where_all_tests_are_looked_at() {
    // One of most groups: every case of a subject that computes nothing is run elsewhere.
    let runner = Runner::new().only("/bf16/starts_anywhere_in_a_buffer");
    testing::something(&runner, &Nothing, CaseGroup::ALL);
}

#[test]
#[should_panic(expected = "or take `conformance_main!`, where such a test is ignored")]
fn a_test_of_which_every_case_is_skipped_is_not_ok() {
    testing::group("storage", &Runner::new(), &Stores(0), CaseGroup::Sum);
}

#[test]
fn a_test_of_which_every_case_is_excused_is_ok() {
    let runner = Runner::new().excuse("sum/", "it only stores");
    testing::group("storage", &runner, &Stores(0), CaseGroup::Sum);
}

#[test]
#[should_panic(expected = "cases skipped: compute is not supported")]
fn nothing_that_passes_among_the_suites_that_were_asked_for_is_a_failure() {
    testing::something(&Runner::new(), &Stores(0), &[CaseGroup::Sum, CaseGroup::Mean]);
}

#[test]
#[should_panic(expected = "FAILED bits/f16/every_pattern")]
fn a_failure_is_reported_where_it_is() {
    testing::group("wrong", &Runner::new(), &Stores(1), CaseGroup::Bits);
}

#[test]
fn a_case_that_is_another_tests_is_no_failure_of_this_one_and_a_name_that_no_case_has_is() {
    let only = |name: &str| Runner::new().only(name);
    testing::something(&only("cast/f32-f16/subnormals_are_kept"), &Toy, &[CaseGroup::Bits]);
    let known = only("bits/f16/every_pattern").known("bits/f16/", "our f16 is one higher");
    testing::something(&known, &Stores(1), &[CaseGroup::Bits]);
    let slip = std::panic::catch_unwind(|| {
        testing::something(&only("cast/f32-f61/"), &Toy, &[CaseGroup::Cast]);
    });
    assert!(slip.is_err());
}

#[test]
#[should_panic(expected = "[\"cast/f32-f61\"]: no case is called so")]
fn a_list_of_known_failures_that_names_no_case_is_out_of_date() {
    let runner = Runner::new().known("cast/f32-f61", "a slip of the pen");
    testing::something(&runner, &Toy, &[CaseGroup::Bits]);
}
