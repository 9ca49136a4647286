//! Runner of the selected cases. A case that fails or panics does not stop the others.

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

/// Settings of a run: the selected cases, excused skips, devices on which a skip is a failure, and known failures.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    filter: String,
    /// Selected groups; empty for all.
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

    /// Creates a runner from the environment. `BINADE_CASE` is a part of the names of the cases to run. `BINADE_REQUIRE` lists devices, separated by
    /// commas, on which a skip is a failure. If `BINADE_FAIL_FAST` is set, the run ends at the first failure.
    pub fn from_env() -> Self {
        let variable = |name| env::var(name).unwrap_or_default();
        let fails_fast = env::var_os("BINADE_FAIL_FAST").is_some();
        let runner = Self { fails_fast, ..Self::new() }.only(variable("BINADE_CASE"));
        variable("BINADE_REQUIRE")
            .split(',')
            .fold(runner, |runner, name| runner.require(name.trim()))
    }

    /// Runs only cases whose full name contains `part`. If `part` is a case's full name, only that case runs.
    #[must_use]
    pub fn only(self, part: impl Into<String>) -> Self {
        Self { filter: part.into(), ..self }
    }

    /// Runs only the cases of `suite`, and of suites given by other calls. A suite is a trait such as `GradScaler` or `Gelu`, `Ops` for all
    /// operations, `Storage` or `Convergence`.
    ///
    /// # Panics
    ///
    /// If no suite has that name.
    #[must_use]
    #[track_caller]
    pub fn suite(mut self, suite: &str) -> Self {
        let before = self.groups.len();
        self.groups.extend(CaseGroup::of_suite(suite));
        let names = CaseGroup::all_suites;
        assert!(self.groups.len() > before, "no suite is called `{suite}`: there are {}", names());
        self
    }

    /// Counts skips as failures on every device.
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

    /// Excuses skips of cases whose name contains `part`, even on a required device, with a reason.
    ///
    /// A match must start at the beginning of a word of the name, usually after a `/`: `mul/` excuses `mul/…` but not `matmul/…`, `softmax/` does not
    /// excuse `log_softmax/…`, and `e4m3` excuses `cast/f32-e4m3/…`.
    ///
    /// The excuse is out of date, which is a failure, if an excused case passes or no case's name contains `part`.
    #[must_use]
    pub fn excuse(mut self, part: impl Into<String>, reason: impl Into<String>) -> Self {
        self.lists.excused.push((part.into(), reason.into()));
        self
    }

    /// Lists failures of cases whose name begins with `start` as known, with a reason. A known failure neither fails the run nor counts as passed.
    ///
    /// If a listed case passes, or no case of the kit begins with `start`, that is a failure: remove the entry. If the cases are not selected, the
    /// report says that they were not run. A skip stays a skip; [`excuse`](Self::excuse) is for these.
    #[must_use]
    pub fn known(mut self, start: impl Into<String>, reason: impl Into<String>) -> Self {
        self.lists.known.push((start.into(), reason.into()));
        self
    }

    /// Runs the cases on `subject`. Returns a report of all of them, and of listed names without a case or whose cases did not run.
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

    /// Returns the full names of the selected cases, in order.
    pub fn names<S: Subject>(&self, subject: &S) -> Vec<String> {
        names(&self.cases(subject))
    }

    /// Returns the selected cases, in order. If the filter is a case's full name, only that case is returned: `softmax/…` is part of `log_softmax/…`.
    fn cases<S: Backend>(&self, subject: &S) -> Vec<Case<S>> {
        let list = |wants: &dyn Fn(CaseGroup) -> bool| cases::of::<S>(subject.arithmetic(), wants);
        // A full name has two slashes. Only its groups are listed, since listing every case takes longer than running a few.
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

    /// Returns the outcome that counts on this device.
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

/// Returns the names of these cases.
fn names<S>(cases: &[Case<S>]) -> Vec<String> {
    cases.iter().map(Case::name).collect()
}

/// Runs one case and catches panics.
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
