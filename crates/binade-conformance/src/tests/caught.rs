//! Tests that the kit catches each wrong subject by the case that names its fault.

use super::faulty::{Fault, Faulty};
use super::wrong::Wrong;
use crate::{Failure, Report, Runner};

/// Writes a test for each fault. The test runs the cases of the fault's operation and element types, and requires the named ones to fail. With
/// `by_only`, no case but these may fail: without them, the subject would pass.
macro_rules! caught {
    ($($(#[$doc:meta])* fn $fault:ident() $by:ident $($case:literal)+;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $fault() {
            let wrong = Wrong(stringify!($fault));
            let only = (stringify!($by) == "by_only").then_some(&[$($case),+][..]);
            $($crate::tests::caught::fails(&wrong, $case, only);)+
        }
    )+};
}
pub(super) use caught;

/// Returns the names of the cases that failed.
pub(super) fn failed(report: &Report) -> Vec<&str> {
    report.failed().into_iter().map(|(name, _)| name).collect()
}

#[track_caller]
pub(super) fn fails(wrong: &dyn Fault, case: &str, only: Option<&[&str]>) {
    let siblings = case.rsplit_once('/').map_or(case, |(siblings, _)| siblings);
    let report = Runner::new().only(format!("{siblings}/")).run_on(&Faulty(wrong));
    let panics = |it: &(&str, &Failure)| it.0 == case && it.1.got.starts_with("a panic");
    assert!(!report.failed().iter().any(panics), "{report}");
    let failed = failed(&report);
    assert!(failed.contains(&case), "{case} let it pass; these did not: {failed:#?}");
    let is_listed = |failed: &&str| only.is_none_or(|only| only.contains(failed));
    assert!(failed.iter().all(is_listed), "{case} is not alone: {failed:#?}");
    assert!(report.passed() > 0, "one fault, and nothing at all passed");
}

#[test]
fn a_panic_is_a_failure_of_its_case_and_stops_no_other() {
    let report = Runner::new().only("/bf16").run_on(&Faulty(&Wrong("panics")));
    let failed = report.failed();
    // A run of its own casts too.
    let run = "convergence/bf16/two_hundred_steps_track_the_loss_of_f32";
    assert!(failed.iter().all(|(name, _)| name.starts_with("cast/") || *name == run), "{failed:?}");
    assert!(failed[0].1.got.contains("not today"), "{:?}", failed[0]);
    assert!(report.passed() > 0);
}
