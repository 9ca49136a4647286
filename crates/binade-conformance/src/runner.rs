//! Runs the cases that are asked for, and lets none of them stop the others.

use crate::{Case, Check, Failure, Outcome, Record, Refusal, Report, Stop, Subject, cases};
use std::any::Any;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Which cases to run, which skips are allowed, and on which devices none is.
#[derive(Clone, Debug, Default)]
pub struct Runner {
    filter: String,
    required: Vec<String>,
    excuses: Vec<(String, String)>,
}

impl Runner {
    /// Every case; no device required.
    pub fn new() -> Self {
        Self::default()
    }

    /// As the environment says: `BINADE_CASE` holds part of the names of the cases to run, `BINADE_REQUIRE` the names,
    /// with commas between, of devices on which nothing may be skipped.
    pub fn from_env() -> Self {
        let variable = |name| env::var(name).unwrap_or_default();
        let runner = Self::new().only(variable("BINADE_CASE"));
        variable("BINADE_REQUIRE")
            .split(',')
            .fold(runner, |runner, name| runner.require(name.trim()))
    }

    /// Runs only cases whose full name contains `part`.
    #[must_use]
    pub fn only(self, part: impl Into<String>) -> Self {
        Self { filter: part.into(), ..self }
    }

    /// Counts skips as failures on the device of this name.
    #[must_use]
    pub fn require(mut self, device: impl Into<String>) -> Self {
        self.required.push(device.into());
        self
    }

    /// Lets cases whose name contains `part` be skipped even where the device is required, for a reason.
    ///
    /// One that runs all the same is a failure: the excuse is out of date.
    #[must_use]
    pub fn excuse(mut self, part: impl Into<String>, reason: impl Into<String>) -> Self {
        self.excuses.push((part.into(), reason.into()));
        self
    }

    /// Runs `subject` through the cases and reports on all of them.
    pub fn run<S: Subject>(&self, subject: &S) -> Report {
        let arithmetic = subject.arithmetic();
        let required = self.required.iter().any(|name| name == subject.name());
        let mut report = Report::new(subject.name(), arithmetic);
        for case in cases::all::<S>(arithmetic) {
            let name = case.name();
            if name.contains(&self.filter) {
                let mut check = Check::new(case.operation.agreement(&arithmetic));
                let outcome = self.judge(&name, required, run(&case, subject, &mut check));
                report.add(Record {
                    operation: case.operation,
                    variant: case.variant.clone(),
                    worst: check.worst,
                    name,
                    outcome,
                });
            }
        }
        report
    }

    /// What a skip counts as here.
    fn judge(&self, name: &str, required: bool, outcome: Outcome) -> Outcome {
        let excuse = self.excuses.iter().find(|(part, _)| name.contains(part)).map(|(_, why)| why);
        match (outcome, excuse) {
            (Outcome::Skipped(_), Some(excuse)) => Outcome::Skipped(format!("excused: {excuse}")),
            (Outcome::Skipped(why), None) if required => {
                failed(format!("{why}, and this device is required: nothing may be skipped"))
            }
            (Outcome::Passed, Some(excuse)) => {
                failed(format!("it passes, but is excused ({excuse}): remove the excuse"))
            }
            (outcome, _) => outcome,
        }
    }
}

/// One case, with panics caught.
fn run<S>(case: &Case<S>, subject: &S, check: &mut Check) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| (case.check)(subject, check))) {
        Ok(Ok(())) if check.compared == 0 => failed("the case compared nothing".to_owned()),
        Ok(Ok(())) => Outcome::Passed,
        Ok(Err(Stop::Wrong(failure))) => Outcome::Failed(failure),
        Ok(Err(Stop::Refused(Refusal::Unsupported(why)))) => Outcome::Skipped(why),
        Ok(Err(Stop::Refused(Refusal::Rejected(kind, why)))) => {
            failed(format!("an error: {kind:?}: {why}"))
        }
        Ok(Err(Stop::Refused(Refusal::Failed(why)))) => failed(format!("an error: {why}")),
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
