//! Suites, operations, and failures that are known: what the runner makes of each.

use crate::faulty::{Fault, Faulty, TOY};
use crate::files::Shifted;
use crate::right::STORAGE;
use crate::toy::{Plain, Toy};
use crate::wrong::Wrong::FlushesSubnormals;
use binade_conformance::{
    CaseGroup, OpInvocation, Outcome, Report, Result, Row, Runner, Subject, SubjectError,
};
use std::collections::BTreeSet;

/// Case that a subject fails that flushes.
const FLUSHED: &str = "cast/f32-f16/subnormals_are_kept";

fn groups(report: &Report) -> Vec<CaseGroup> {
    let all: BTreeSet<CaseGroup> = report.records().iter().map(|record| record.group).collect();
    all.into_iter().collect()
}

#[test]
fn who_has_the_scaler_alone_runs_its_cases_and_no_others() {
    let report = Runner::new().suite("GradScaler").run(&TOY);
    assert_eq!(groups(&report), CaseGroup::of_suite("GradScaler").collect::<Vec<_>>());
    assert_eq!(report.skipped(), []);
    report.assert_success();
}

#[test]
fn suites_add_up_and_the_filter_still_holds() {
    let runner = Runner::new().suite("Storage").suite("Sum").only("/f16/");
    let report = runner.run(&TOY);
    assert_eq!(groups(&report), [CaseGroup::Bits, CaseGroup::Sum]);
    assert!(report.records().iter().all(|record| record.variant == "f16"), "{report}");
}

#[test]
fn the_whole_name_of_a_case_runs_it_alone_though_others_contain_it() {
    let name = "scale/bf16/starts_anywhere_in_a_buffer";
    let report = Runner::new().only(name).run(&TOY);
    let names: Vec<_> = report.records().iter().map(|record| record.name.as_str()).collect();
    assert_eq!(names, [name]);
    let part = Runner::new().only("scale/bf16/starts_anywhere").run(&TOY);
    assert!(part.records().len() > 1, "{part}");
}

#[test]
fn one_operation_runs_alone() {
    let report = Runner::new().group(CaseGroup::Mean).run(&TOY);
    assert_eq!(groups(&report), [CaseGroup::Mean]);
}

#[test]
fn where_everything_is_required_a_skip_is_a_failure_whatever_the_device_is_called() {
    let report = Runner::new().require_all().suite("Sum").run(&STORAGE);
    assert_eq!(report.failed().len(), report.records().len());
}

#[test]
fn a_known_failure_is_counted_apart_and_printed_with_its_reason() {
    let runner = Runner::new().only(FLUSHED).known(FLUSHED, "our units flush");
    let report = runner.run(&Faulty(&FlushesSubnormals));
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
    let alone = runner.only(FLUSHED).run(&Faulty(&FlushesSubnormals));
    assert!(!alone.is_success());
    let beside = Runner::new().suite("Storage").known("bits/f16/", "one higher");
    let report = beside.run(&Faulty(&Shifted));
    assert!(report.is_success() && report.known().len() == 1, "{report}");
}

#[test]
fn a_known_failure_that_passes_has_to_be_removed() {
    let report = Runner::new().only(FLUSHED).known(FLUSHED, "our units flush").run(&TOY);
    let [(FLUSHED, failure)] = report.failed()[..] else { panic!("{report}") };
    assert!(failure.got.contains("our units flush") && failure.got.contains("remove it"));
}

#[test]
fn what_is_known_to_fail_may_not_be_skipped_unseen() {
    let runner = Runner::new().only("sum/").known("sum/", "it is wrong");
    let skipped = runner.run(&STORAGE);
    assert!(skipped.records().iter().all(|it| matches!(it.outcome, Outcome::Skipped(_))));
    assert!(!runner.require_all().run(&STORAGE).failed().is_empty());
}

/// Multiplies matrices, and no elements.
struct Matrices;

impl Fault for Matrices {
    fn compute(&self, op: &OpInvocation, operands: &[&Plain]) -> Result<Vec<Plain>> {
        match op {
            OpInvocation::Mul | OpInvocation::MulBackward => {
                Err(SubjectError::unsupported("an element's product"))
            }
            _ => Toy.compute(op, operands),
        }
    }
}

/// `matmul/…` has `mul/…` in it, and passes: an excuse of both would be out of date.
#[test]
fn an_excuse_is_for_the_operation_that_it_names_and_for_no_longer_name() {
    let both = Runner::new().group(CaseGroup::Mul).group(CaseGroup::MatMul).require_all();
    let report = both.excuse("mul/", "there are matrices alone").run(&Faulty(&Matrices));
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
    let report = runner.run(&TOY);
    report.assert_success();
    assert_eq!((report.not_run(), report.known().len()), (vec![(FLUSHED, "our units flush")], 0));
    let text = report.to_string();
    assert!(
        text.contains("not run cast/f32-f16/subnormals_are_kept: known to fail: our units flush")
    );
    assert!(text.contains("0 failed, 1 known and not run, 0 skipped"), "{text}");
    let alone = runner.suite("Autocast").only("cast/f32-f16/").run(&Faulty(&FlushesSubnormals));
    assert_eq!((alone.not_run(), alone.known().len()), (vec![], 1));
}

#[test]
fn a_listed_name_that_no_case_of_the_kit_has_fails_the_run_and_is_named() {
    let runner = Runner::new().suite("Storage");
    let known = runner.clone().known("cast/f32-f61", "a slip of the pen").run(&TOY);
    let excused = runner.excuse("ast/f32-f16", "half a word").run(&TOY);
    for (report, name) in [(known, "cast/f32-f61"), (excused, "ast/f32-f16")] {
        assert_eq!(report.misnamed().into_iter().map(|(it, _)| it).collect::<Vec<_>>(), [name]);
        assert_eq!((report.failed(), report.not_run()), (vec![], vec![]));
        assert!(!report.is_success() && report.passed() > 0, "{report}");
        let told = format!("FAILED {name}: no case is called so; remove it from the list (");
        assert!(report.to_string().contains(&told), "{report}");
        assert!(report.to_string().contains("0 failed, 1 misnamed, 0 skipped"), "{report}");
    }
}

#[test]
fn every_group_has_cases_of_its_own_and_brings_no_others() {
    for group in CaseGroup::ALL {
        let report = Runner::new().group(*group).run(&STORAGE);
        assert_eq!(groups(&report), [*group]);
    }
}

#[test]
#[should_panic(expected = "no suite is called `Gradscaler`: there are Add, ")]
fn a_suite_that_there_is_not_is_told_with_those_that_there_are() {
    let _ = Runner::new().suite("Gradscaler");
}

/// `stochastic_cast/…` has `cast/…` in it.
#[test]
fn what_is_known_is_told_by_how_its_name_begins() {
    let runner = Runner::new().group(CaseGroup::StochasticCast).only("/f32-f16/");
    let report = runner.known("cast/f32-f16/", "another operation's").run(&TOY);
    report.assert_success();
}
