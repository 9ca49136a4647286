//! The runner: selected cases, skips, excuses, and known failures.

use super::faulty::{Fault, Faultless, Faulty, TOY};
use super::toy::{Plain, Stores, Tensors, Toy};
use super::wrong::FLUSHES;
use crate::report::Row;
use crate::{
    Arithmetic, Backend as _, CaseGroup, OpInvocation, Outcome, Report, Result, Runner,
    SubjectError, cases,
};
use std::collections::BTreeSet;

/// Subject that only stores.
const STORES: Faulty<'_> = Faulty(&Faultless(Stores(0)));

#[test]
fn a_right_subject_passes_every_case() {
    let report = Runner::new().require("toy").run_on(&TOY);
    report.assert_success();
    assert_eq!(report.skipped(), []);
    assert!(report.passed() > 1000, "{report}");
}

#[test]
fn a_filter_picks_cases_by_part_of_their_full_name() {
    let report = Runner::new().only("sum/f16/seventy").run_on(&TOY);
    let names: Vec<&str> = report.records.iter().map(|record| record.name.as_str()).collect();
    assert_eq!(names, ["sum/f16/seventy_thousand_ones_are_seventy_thousand"]);
    assert!(report.is_success());
}

#[test]
fn a_run_in_which_nothing_ran_fails() {
    let report = Runner::new().only("no such case").run_on(&TOY);
    assert!(!report.is_success());
    assert!(report.to_string().contains("nothing ran"), "{report}");
}

#[test]
fn nothing_ran_is_said_of_no_run_in_which_something_did() {
    let report = Runner::new().only("matmul/").run_on(&STORES);
    assert!(!report.is_success());
    let skipped = report.to_string();
    assert!(skipped.ends_with("; every case was skipped, which is no success"), "{skipped}");
    let failed = Runner::new().require("storage").only("matmul/").run_on(&STORES).to_string();
    assert!(failed.ends_with(" failed, 0 skipped"), "{failed}");
}

#[test]
fn what_a_subject_leaves_out_is_skipped_counted_and_named() {
    let report = Runner::new().run_on(&STORES);
    assert!(report.is_success(), "{report}");
    assert_eq!(report.passed(), 5);
    assert_eq!(report.skipped().len(), report.records.len() - 5);
    let text = report.to_string();
    let skips: Vec<_> = text.lines().filter(|line| line.starts_with("skipped ")).collect();
    assert!(skips.len() < 20, "{skips:#?}");
    let is_of_mean =
        |line: &&&str| line.contains(", mean") && line.ends_with(": compute is not supported");
    assert!(skips.iter().any(|line| is_of_mean(&line)), "{skips:#?}");
    assert!(!text.contains("\nmean "), "a row of skips alone: {text}");
}

#[test]
fn where_a_device_is_required_a_skip_is_a_failure() {
    let runner = Runner::new().only("/f16/");
    let report = runner.clone().require("storage").run_on(&STORES);
    assert_eq!(report.failed().len(), report.records.len() - 1);
    assert!(runner.clone().require("another").run_on(&STORES).is_success());
    let report = runner.require_all().run_on(&STORES);
    assert_eq!(report.failed().len(), report.records.len() - 1);
}

#[test]
fn an_excuse_lets_a_skip_pass_and_nothing_else() {
    let runner = Runner::new().require("storage").only("sum/");
    let excused = runner.clone().excuse("sum/", "it only stores").run_on(&STORES);
    assert_eq!(excused.failed(), []);
    assert!(
        matches!(&excused.records[0].outcome, Outcome::Skipped(why) if why.contains("it only stores"))
    );
    let sums = Runner::new().suite("Sum").suite("Mean");
    let stale = sums.excuse("sum/", "it only stores").run_on(&TOY);
    assert!(stale.failed().iter().all(|(name, _)| name.starts_with("sum/")));
    assert!(!stale.is_success() && stale.passed() > 0, "{stale}");
}

/// Case that a subject with flushed subnormals fails.
const FLUSHED: &str = "cast/f32-f16/subnormals_are_kept";

fn groups(report: &Report) -> Vec<CaseGroup> {
    let all: BTreeSet<CaseGroup> = report.records.iter().map(|record| record.group).collect();
    all.into_iter().collect()
}

#[test]
fn suites_add_up_and_the_filter_still_holds() {
    let runner = Runner::new().suite("Storage").suite("Sum").only("/f16/");
    let report = runner.run_on(&TOY);
    assert_eq!(groups(&report), [CaseGroup::Bits, CaseGroup::Sum]);
    assert!(report.records.iter().all(|record| record.variant == "f16"), "{report}");
}

#[test]
fn the_whole_name_of_a_case_runs_it_alone_though_others_contain_it() {
    let name = "scale/bf16/starts_anywhere_in_a_buffer";
    let report = Runner::new().only(name).run_on(&TOY);
    let names: Vec<_> = report.records.iter().map(|record| record.name.as_str()).collect();
    assert_eq!(names, [name]);
    let part = Runner::new().only("scale/bf16/starts_anywhere").run_on(&TOY);
    assert!(part.records.len() > 1, "{part}");
}

#[test]
fn a_known_failure_is_counted_apart_and_printed_with_its_reason() {
    let runner = Runner::new().only(FLUSHED).known(FLUSHED, "our units flush");
    let report = runner.run_on(&Faulty(&FLUSHES));
    assert_eq!((report.failed(), report.passed()), (vec![], 0));
    assert!(matches!(report.known()[..], [(FLUSHED, _, "our units flush")]), "{report}");
    assert_eq!(report.rows()[0].status(), "1 known");
    let text = report.to_string();
    assert!(text.contains("known cast/f32-f16/subnormals_are_kept: our units flush"), "{text}");
    assert!(text.contains("0 passed, 0 failed, 1 known to fail, 0 skipped"), "{text}");
}

#[test]
fn known_failures_alone_are_no_success_and_beside_what_passes_they_are() {
    let runner = Runner::new().known(FLUSHED, "our units flush");
    let alone = runner.only(FLUSHED).run_on(&Faulty(&FLUSHES));
    assert!(!alone.is_success());
    let beside = Runner::new().suite("Storage").known("bits/f16/", "one higher");
    let report = beside.run_on(&Faulty(&Faultless(Stores(1))));
    assert!(report.is_success() && report.known().len() == 1, "{report}");
}

#[test]
fn a_known_failure_that_passes_has_to_be_removed() {
    let report = Runner::new().only(FLUSHED).known(FLUSHED, "our units flush").run_on(&TOY);
    let [(FLUSHED, failure)] = report.failed()[..] else { panic!("{report}") };
    assert!(failure.got.contains("our units flush") && failure.got.contains("remove it"));
}

#[test]
fn what_is_known_to_fail_may_not_be_skipped_unseen() {
    let runner = Runner::new().only("sum/").known("sum/", "it is wrong");
    let skipped = runner.run_on(&STORES);
    assert!(skipped.records.iter().all(|it| matches!(it.outcome, Outcome::Skipped(_))));
    assert!(!runner.require_all().run_on(&STORES).failed().is_empty());
}

/// Multiplies matrices, and no elements.
struct Matrices;

impl Fault for Matrices {
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Tensors> {
        match op {
            OpInvocation::Mul | OpInvocation::MulBackward => {
                Err(SubjectError::unsupported("an element's product"))
            }
            _ => Toy.compute(op, operands),
        }
    }
}

/// `matmul/…` contains `mul/…`, and passes: an excuse of both would be out of date.
#[test]
fn an_excuse_is_for_the_operation_that_it_names_and_for_no_longer_name() {
    let both = Runner::new().suite("Mul").suite("MatMul").require_all();
    let report = both.excuse("mul/", "there are matrices alone").run_on(&Faulty(&Matrices));
    report.assert_success();
    let of =
        |name: &str| report.rows().into_iter().filter(|row| row.group.name() == name).collect();
    let (products, matrices): (Vec<Row>, Vec<Row>) = (of("mul"), of("matmul"));
    assert!(!products.is_empty() && !matrices.is_empty(), "{report}");
    assert!(products.iter().all(|row| row.skipped == row.cases()), "{report}");
    assert!(matrices.iter().all(|row| row.passed == row.cases()), "{report}");
}

#[test]
fn a_known_failure_of_a_suite_that_is_not_run_is_told_and_fails_nothing() {
    let runner = Runner::new().suite("Storage").known(FLUSHED, "our units flush");
    let report = runner.run_on(&TOY);
    report.assert_success();
    assert_eq!(report.not_run, [(FLUSHED.into(), "our units flush".into())]);
    assert_eq!(report.known().len(), 0);
    let text = report.to_string();
    assert!(
        text.contains("not run cast/f32-f16/subnormals_are_kept: known to fail: our units flush")
    );
    assert!(text.contains("0 failed, 1 known and not run, 0 skipped"), "{text}");
    let alone = runner.suite("Autocast").only("cast/f32-f16/").run_on(&Faulty(&FLUSHES));
    assert_eq!((alone.not_run.len(), alone.known().len()), (0, 1));
}

#[test]
fn a_listed_name_that_no_case_of_the_kit_has_fails_the_run_and_is_named() {
    let runner = Runner::new().suite("Storage");
    let known = runner.clone().known("cast/f32-f61", "a slip of the pen").run_on(&TOY);
    let excused = runner.excuse("ast/f32-f16", "half a word").run_on(&TOY);
    for (report, name) in [(known, "cast/f32-f61"), (excused, "ast/f32-f16")] {
        assert_eq!(report.misnamed.iter().map(|(it, _)| it).collect::<Vec<_>>(), [name]);
        assert_eq!((report.failed().len(), report.not_run.len()), (0, 0));
        assert!(!report.is_success() && report.passed() > 0, "{report}");
        let told = format!("FAILED {name}: no case is called so; remove it from the list (");
        assert!(report.to_string().contains(&told), "{report}");
        assert!(report.to_string().contains("0 failed, 1 misnamed, 0 skipped"), "{report}");
    }
}

#[test]
fn every_group_has_cases_of_its_own() {
    for group in CaseGroup::ALL {
        let own = cases::of::<Faulty<'_>>(Arithmetic::IEEE, |of| of == *group);
        assert!(!own.is_empty(), "{group}");
    }
}

#[test]
#[should_panic(expected = "no suite is called `Gradscaler`: there are AdaptiveAvgPool2d, Add, ")]
fn a_suite_that_there_is_not_is_told_with_those_that_there_are() {
    let _ = Runner::new().suite("Gradscaler");
}

/// `stochastic_cast/…` contains `cast/…`.
#[test]
fn what_is_known_is_told_by_how_its_name_begins() {
    let runner = Runner::new().suite("StochasticCast").only("/f32-f16/");
    let report = runner.known("cast/f32-f16/", "another operation's").run_on(&TOY);
    report.assert_success();
}
