//! Runs the cases that are asked for, and lets none of them stop the others.

mod lists;

use crate::{
    Backend, Case, CaseError, CaseGroup, Check, Failure, Outcome, Record, Report, Subject,
    SubjectError, cases,
};
pub(crate) use lists::Listed;
use lists::Lists;
use std::any::Any;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Settings of a run: its cases, excused skips, devices on which a skip is a failure, and known failures.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    filter: String,
    /// Empty for all.
    groups: Vec<CaseGroup>,
    required: Vec<String>,
    requires_all: bool,
    fails_fast: bool,
    lists: Lists,
}

impl Runner {
    /// Creates a runner of every case, which requires no device.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a runner from the environment. `BINADE_CASE` holds part of the names of the cases to run, `BINADE_REQUIRE` the names,
    /// with commas between, of devices on which a skip is a failure. With `BINADE_FAIL_FAST` the run ends at the first failure.
    pub fn from_env() -> Self {
        let variable = |name| env::var(name).unwrap_or_default();
        let fails_fast = env::var_os("BINADE_FAIL_FAST").is_some();
        let runner = Self { fails_fast, ..Self::new() }.only(variable("BINADE_CASE"));
        variable("BINADE_REQUIRE")
            .split(',')
            .fold(runner, |runner, name| runner.require(name.trim()))
    }

    /// Runs only cases whose full name contains `part`; where it is the whole name of one, that one alone.
    #[must_use]
    pub fn only(self, part: impl Into<String>) -> Self {
        Self { filter: part.into(), ..self }
    }

    /// Runs only the cases of this suite, and of others that are named so: a trait such as `GradScaler` or `Gelu`, `Ops` for all
    /// operations, `Storage` or `Convergence`.
    ///
    /// # Panics
    ///
    /// Where no suite is called so.
    #[must_use]
    #[track_caller]
    pub fn suite(mut self, suite: &str) -> Self {
        let before = self.groups.len();
        self.groups.extend(CaseGroup::of_suite(suite));
        let names = CaseGroup::all_suites;
        assert!(self.groups.len() > before, "no suite is called `{suite}`: there are {}", names());
        self
    }

    /// Counts skips as failures, whatever the device is called.
    #[must_use]
    pub fn require_all(self) -> Self {
        Self { requires_all: true, ..self }
    }

    /// Counts skips as failures on the device of this name.
    #[must_use]
    pub(crate) fn require(mut self, device: impl Into<String>) -> Self {
        self.required.push(device.into());
        self
    }

    /// Lets cases whose name contains `part` be skipped even where the device is required, for a reason.
    ///
    /// A part begins where a word of the name does, at a `/` mostly: `mul/` excuses `mul/…` and not `matmul/…`, `softmax/` not
    /// `log_softmax/…`, `e4m3` excuses `cast/f32-e4m3/…`.
    ///
    /// One that runs all the same is a failure, and so is a part of no case's name: the excuse is out of date.
    #[must_use]
    pub fn excuse(mut self, part: impl Into<String>, reason: impl Into<String>) -> Self {
        self.lists.excused.push((part.into(), reason.into()));
        self
    }

    /// Lists failures of cases whose name begins with `start` as known, for a reason: they fail no run, and count as no success.
    ///
    /// One that passes is a failure: it has to be removed from the list; and so is a start that no case of the kit has. Of one
    /// whose cases are not asked for, the report says that it was not run. A skip stays a skip, which
    /// [`excuse`](Self::excuse) is for.
    #[must_use]
    pub fn known(mut self, start: impl Into<String>, reason: impl Into<String>) -> Self {
        self.lists.known.push((start.into(), reason.into()));
        self
    }

    /// Runs `subject` through the cases and reports on all of them, and on what is listed and was not met.
    pub fn run<S: Subject>(&self, subject: &S) -> Report {
        self.run_on(subject)
    }

    pub(crate) fn run_on<S: Backend>(&self, subject: &S) -> Report {
        let mut report = Report::new(subject);
        for case in self.cases::<S>(subject) {
            report.records.push(self.record(&case, subject));
            if self.fails_fast && !report.failed().is_empty() {
                break;
            }
        }
        if !self.lists.is_empty() {
            let all = names(&cases::all::<S>(subject.arithmetic()));
            let ran: Vec<String> = report.records.iter().map(|it| it.name.clone()).collect();
            report.misnamed = self.lists.idle(&all);
            report.not_run = self.lists.known_beside(&ran);
            report.not_run.retain(|entry| !report.misnamed.contains(entry));
        }
        report
    }

    /// Returns the full names of the cases that it would run, in order.
    pub fn names<S: Subject>(&self, subject: &S) -> Vec<String> {
        names(&self.cases(subject))
    }

    /// The cases that are asked for, in order: where the filter is the whole name of one, that one alone, since `softmax/…` is part
    /// of `log_softmax/…`.
    fn cases<S: Backend>(&self, subject: &S) -> Vec<Case<S>> {
        let list = |wants: &dyn Fn(CaseGroup) -> bool| cases::of::<S>(subject.arithmetic(), wants);
        // Whole names have two slashes, and to list every case takes longer than to run a few.
        let group = self.filter.split_once('/').filter(|(_, rest)| rest.contains('/'));
        let is_picked = |of: CaseGroup| self.groups.is_empty() || self.groups.contains(&of);
        let mut picked =
            list(&|of| is_picked(of) && group.is_none_or(|(group, _)| of.name().ends_with(group)));
        let alone = group.is_some_and(|(group, _)| {
            list(&|of| of.name() == group).iter().any(|case| case.name() == self.filter)
        });
        picked.retain(|case| {
            let name = case.name();
            if alone { name == self.filter } else { name.contains(&self.filter) }
        });
        picked
    }

    fn record<S: Backend>(&self, case: &Case<S>, subject: &S) -> Record {
        let mut check = Check::new(case.group.agreement(subject.arithmetic()));
        let outcome = run(case, subject, &mut check);
        let name = case.name();
        Record {
            group: case.group,
            variant: case.variant.clone(),
            worst: check.worst,
            outcome: self.judge(&name, subject.name(), outcome),
            name,
        }
    }

    /// Returns what an outcome counts as on this device.
    fn judge(&self, case: &str, device: &str, outcome: Outcome) -> Outcome {
        let required = self.requires_all || self.required.iter().any(|name| name == device);
        match (outcome, self.lists.why_excused(case), self.lists.why_known(case)) {
            (Outcome::Skipped(_), Some(why), _) => Outcome::Skipped(format!("excused: {why}")),
            (Outcome::Skipped(why), None, _) if required => {
                failed(format!("{why}, and this device is required: nothing may be skipped"))
            }
            (Outcome::Failed(failure), _, Some(why)) => Outcome::Known(failure, why.to_owned()),
            (Outcome::Passed, _, Some(why)) => {
                failed(format!("it passes, but is listed as a known failure ({why}): remove it"))
            }
            (Outcome::Passed, Some(why), None) => {
                failed(format!("it passes, but is excused ({why}): remove the excuse"))
            }
            (outcome, ..) => outcome,
        }
    }
}

/// Names of these cases.
fn names<S>(cases: &[Case<S>]) -> Vec<String> {
    cases.iter().map(Case::name).collect()
}

/// One case, with panics caught.
fn run<S>(case: &Case<S>, subject: &S, check: &mut Check) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| (case.check)(subject, check))) {
        Ok(Ok(())) if check.compared == 0 => failed("the case compared nothing".to_owned()),
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(CaseError::Wrong(failure))) => Outcome::Failed(failure),
        Ok(Err(CaseError::Subject(SubjectError::Unsupported(why)))) => Outcome::Skipped(why),
        Ok(Err(CaseError::Subject(SubjectError::Rejected(kind, why)))) => {
            failed(format!("an error: {kind:?}: {why}"))
        }
        Ok(Err(CaseError::Subject(SubjectError::Failed(why)))) => {
            failed(format!("an error: {why}"))
        }
        Err(panic) => failed(format!("a panic: {}", message(&*panic))),
    }
}

fn failed(got: String) -> Outcome {
    Outcome::Failed(Failure { got, ..Failure::default() })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
