//! `conformance_tests!`: its tests run, and what they call fails where it should.

use crate::faulty::{Fault, Faulty, TOY};
use crate::files::Shifted;
use crate::right::STORAGE;
use crate::wrong::Wrong::FlushesSubnormals;
use binade_conformance::{CaseGroup, Runner, testing};

binade_conformance::conformance_tests!(toy, TOY, suites = [Storage, Autocast, GradScaler, Sum]);

binade_conformance::conformance_tests!(
    shifts,
    Faulty(&Shifted),
    suites = [Storage],
    known = [("bits/f16/", "our f16 is one higher")],
);

binade_conformance::conformance_tests!(
    stores,
    STORAGE,
    suites = [Storage, Sum],
    excused = [("sum/", "it only stores")],
    required = true,
);

/// Refuses everything.
struct Nothing;

impl Fault for Nothing {
    fn lacks(&self, _: &str) -> bool {
        true
    }
}

#[test]
#[should_panic(expected = "no case passes")]
fn a_subject_that_implements_nothing_fails_where_all_tests_are_looked_at() {
    // One of most groups: every case of a subject that computes nothing is run elsewhere.
    let runner = Runner::new().only("/bf16/starts_anywhere_in_a_buffer");
    testing::something(&runner, &Faulty(&Nothing), CaseGroup::ALL);
}

#[test]
#[should_panic(expected = "or take `conformance_main!`, where such a test is ignored")]
fn a_test_of_which_every_case_is_skipped_is_not_ok() {
    testing::group("storage", &Runner::new(), &STORAGE, CaseGroup::Sum);
}

#[test]
fn a_test_of_which_every_case_is_excused_is_ok() {
    let runner = Runner::new().excuse("sum/", "it only stores");
    testing::group("storage", &runner, &STORAGE, CaseGroup::Sum);
}

#[test]
#[should_panic(expected = "cases skipped: compute is not supported")]
fn nothing_that_passes_among_the_suites_that_were_asked_for_is_a_failure() {
    testing::something(&Runner::new(), &STORAGE, &[CaseGroup::Sum, CaseGroup::Mean]);
}

#[test]
#[should_panic(expected = "FAILED cast/f32-f16/subnormals_are_kept")]
fn a_failure_is_reported_where_it_is() {
    let wrong = Faulty(&FlushesSubnormals);
    testing::group("wrong", &Runner::new(), &wrong, CaseGroup::Cast);
}

#[test]
fn a_case_that_is_another_tests_is_no_failure_of_this_one_and_a_name_that_no_case_has_is() {
    let only = |name: &str| Runner::new().only(name);
    testing::something(&only("cast/f32-f16/subnormals_are_kept"), &TOY, &[CaseGroup::Bits]);
    let known =
        only("cast/f32-f16/subnormals_are_kept").known("cast/f32-f16/sub", "our units flush");
    testing::something(&known, &Faulty(&FlushesSubnormals), &[CaseGroup::Cast]);
    let slip = std::panic::catch_unwind(|| {
        testing::something(&only("cast/f32-f61/"), &TOY, &[CaseGroup::Cast]);
    });
    assert!(slip.is_err());
}

#[test]
#[should_panic(expected = "[\"cast/f32-f61\"]: no case is called so")]
fn a_list_of_known_failures_that_names_no_case_is_out_of_date() {
    let runner = Runner::new().known("cast/f32-f61", "a slip of the pen");
    testing::something(&runner, &TOY, &[CaseGroup::Bits]);
}
