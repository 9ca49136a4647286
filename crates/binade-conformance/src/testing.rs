//! Functions called by the tests that `conformance_tests!` and `conformance_main!` write, and by nothing else.

use crate::runner::{EXCUSED, names};
use crate::{CaseGroup, Report, Runner, Subject, cases};
use std::fmt::Display;
use std::io::{self, Write};

/// Runs the cases of one group, and tells what was skipped.
///
/// # Panics
///
/// With the report, where a case failed, and where every case was skipped without an excuse.
#[track_caller]
pub fn group<S: Subject>(test: &str, runner: &Runner, subject: &S, group: CaseGroup) {
    let report = runner.clone().group(group).run_cases(subject);
    assert!(report.failed().is_empty(), "{report}");
    let told = note(&report);
    if let Some(note) = &told {
        tell(format_args!("{test}: {note}"));
    }
    let note = told.unwrap_or_default();
    assert!(
        !skips_all(&report) || is_excused(&report),
        "{test}: {note}; leave this test's suite out, excuse it, or take `conformance_main!`, where such a test is ignored"
    );
}

/// Returns the groups of these suites, of all suites where none is named.
pub fn groups(suites: &[&str]) -> Vec<CaseGroup> {
    if suites.is_empty() {
        return CaseGroup::ALL.to_vec();
    }
    suites.iter().flat_map(|suite| CaseGroup::of_suite(suite)).collect()
}

/// Returns true for a name that is a suite's.
pub const fn is_suite(name: &str) -> bool {
    let mut index = 0;
    while index < CaseGroup::ALL.len() {
        let suites = CaseGroup::ALL[index].suites();
        if is_equal(suites[0], name) || is_equal(suites[suites.len() - 1], name) {
            return true;
        }
        index += 1;
    }
    false
}

/// Compares two strings in a constant, where `==` cannot be called.
const fn is_equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

/// Runs each group as a test of its own, and `something_passes`, as the command line says.
#[cfg(feature = "harness")]
pub fn main<S: Subject + 'static>(
    name: &'static str,
    runner: fn() -> Runner,
    subject: fn() -> S,
    suites: &[&str],
) -> std::process::ExitCode {
    use libtest_mimic::{Arguments, Trial};
    let groups = groups(suites);
    let trial = |group: &CaseGroup| {
        let test = format!("{name}::{group}");
        let (called, group) = (test.clone(), *group);
        Trial::ignorable_test(test, move || ignorable(&called, &runner(), &subject(), group))
    };
    let mut trials: Vec<Trial> = groups.iter().map(trial).collect();
    trials.push(Trial::test(format!("{name}::something_passes"), move || {
        something(&runner(), &subject(), &groups);
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// As [`group`], and ignored where every case was skipped.
#[cfg(feature = "harness")]
fn ignorable<S: Subject>(
    test: &str,
    runner: &Runner,
    subject: &S,
    group: CaseGroup,
) -> Result<libtest_mimic::Completion, libtest_mimic::Failed> {
    use libtest_mimic::Completion;
    let report = runner.clone().group(group).run_cases(subject);
    if !report.failed().is_empty() {
        return Err(report.to_string().into());
    }
    match note(&report) {
        Some(note) if skips_all(&report) => return Ok(Completion::ignored_with(note)),
        Some(note) => tell(format_args!("{test}: {note}")),
        None => {}
    }
    Ok(Completion::Completed)
}

/// Returns true where there were cases, and each was skipped.
fn skips_all(report: &Report) -> bool {
    let (all, skipped) = (report.records().len(), report.skipped().len());
    all > 0 && all == skipped
}

/// Returns true where the runner was given a reason for every skip.
fn is_excused(report: &Report) -> bool {
    report.skipped().iter().all(|(_, why)| why.starts_with(EXCUSED))
}

/// Wants one case of all these groups to pass: where nothing does, each test by itself would be content with its skips.
/// And wants all that the runner lists, as known or excused, to name a case: in each test by itself it may be another's. What is
/// known of cases that are no test's at all is told.
///
/// # Panics
///
/// With the report, where none passes, and with what names no case.
#[track_caller]
pub fn something<S: Subject>(runner: &Runner, subject: &S, groups: &[CaseGroup]) {
    let runner = groups.iter().copied().fold(runner.clone(), Runner::group);
    let all = names(&cases::all::<S>(subject.arithmetic()));
    let idle: Vec<&str> = runner.idle(&all).map(|(part, _)| part).collect();
    assert!(
        idle.is_empty(),
        "{idle:?}: no case is called so; remove it from the list, or correct it"
    );
    let of_tests = |group| groups.contains(&group);
    not_run(&runner, &names(&cases::of::<S>(subject.arithmetic(), of_tests))).for_each(tell);
    let report = runner.until_one_passes(subject);
    // Who asks for a case by name has it run in the test whose it is, and in this one nothing, or a failure that is known.
    let is_asked = runner.is_filtered() && all.iter().any(|name| runner.lets_pass(name));
    if is_asked && report.records().len() == report.known().len() {
        return;
    }
    // What was skipped is told where it is, test by test.
    let told = note(&report).filter(|_| skips_all(&report)).unwrap_or_else(|| report.to_string());
    assert!(report.passed() > 0, "no case passes: {told}");
}

/// Notes on failures that are known of other cases than these.
fn not_run<'r>(runner: &'r Runner, names: &'r [String]) -> impl Iterator<Item = String> + 'r {
    runner.known_beside(names).map(|(start, why)| {
        format!("{start}: known to fail ({why}), and of a suite that is not run")
    })
}

/// Note of a test that did not fail, if it did not run its cases.
fn note(report: &Report) -> Option<String> {
    let (all, skipped) = (report.records().len(), report.skipped());
    let (_, why) = skipped.first()?;
    Some(if skips_all(report) {
        format!("all {all} cases skipped: {why}")
    } else {
        format!("{} of {all} cases skipped, the first: {why}", skipped.len())
    })
}

/// Past the harness, which keeps what `eprintln!` prints in a test that passes.
fn tell(text: impl Display) {
    // A test does not fail for want of somebody to tell.
    let _ = writeln!(io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_knows_the_suites() {
        for name in ["Storage", "GradOps", "Ops", "Dropout"] {
            assert!(is_suite(name), "{name}");
        }
        for name in ["", "Stor", "Storages", "dropout"] {
            assert!(!is_suite(name), "{name}");
        }
    }

    #[test]
    fn a_known_failure_is_told_where_none_of_the_tests_is_its_own() {
        let runner = Runner::new().known("bits/f16/", "one higher").known("sum/", "it is wrong");
        let told = |name: &str| not_run(&runner, &[name.to_owned()]).collect::<Vec<_>>();
        let sum = "sum/: known to fail (it is wrong), and of a suite that is not run";
        assert_eq!(told("bits/f16/every_pattern"), [sum]);
        assert_eq!(told("cast/f16-f32/every_pattern").len(), 2);
    }
}
