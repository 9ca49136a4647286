//! Report of a run: every failure, every skip, and a table; as text, and as JSON.

mod json;
mod row;
mod text;

#[cfg(test)]
pub(crate) use json::SCHEMA;
pub use json::json;

pub(crate) use row::Row;

use crate::contract::AMP_TENSOR;
use crate::runner::Listed;
use crate::{Arithmetic, Backend, CaseGroup, Failure, Sentence, Tensor};
use binade_core::HostDevice;
use std::{any::TypeId, collections::BTreeMap};

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The results agree with the oracle.
    Passed,
    /// A result does not agree.
    Failed(Failure),
    /// A known failure, and the reason why it is tolerated.
    Known(Failure, String),
    /// The case was skipped for this reason.
    Skipped(String),
}

/// A case that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The full name.
    pub name: String,
    /// The operation.
    pub group: CaseGroup,
    /// Element types, mostly.
    pub variant: String,
    /// Worst difference within the agreement, as a share of the allowed one.
    pub worst: f64,
    /// The outcome.
    pub outcome: Outcome,
}

/// Report of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Name that the subject has for itself.
    subject: String,
    /// Arithmetic that the subject declared.
    arithmetic: Arithmetic,
    joins_by_amp_tensor: bool,
    /// Cases that were run, in order.
    pub records: Vec<Record>,
    /// Names listed as known or excused that no case of the kit has, with their reasons. They count as failures.
    pub(crate) misnamed: Vec<Listed>,
    /// Names listed as known whose cases were not selected, with their reasons.
    pub(crate) not_run: Vec<Listed>,
}

impl Report {
    pub(crate) fn new<S: Backend>(subject: &S) -> Self {
        Self {
            subject: subject.name().to_owned(),
            arithmetic: subject.arithmetic(),
            joins_by_amp_tensor: subject.handle().is_some()
                && TypeId::of::<S::Handle>() == TypeId::of::<HostDevice<Tensor<S>>>(),
            records: Vec::new(),
            misnamed: Vec::new(),
            not_run: Vec::new(),
        }
    }

    /// Returns the sentences that the case named `case` proves for this subject. For a subject by `AmpTensor`, they are that trait's: Binade keeps
    /// all others, as long as these hold.
    pub(crate) fn proved_by(&self, case: &str) -> Vec<Sentence> {
        let all = Sentence::proved_by(case);
        let (own, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|sentence| sentence.of == AMP_TENSOR);
        if self.joins_by_amp_tensor && !own.is_empty() { own } else { others }
    }

    /// Returns the number of cases that passed.
    pub fn passed(&self) -> usize {
        self.records.iter().filter(|record| record.outcome == Outcome::Passed).count()
    }

    /// Returns the names and failures of the cases that failed.
    pub fn failed(&self) -> Vec<(&str, &Failure)> {
        self.by(|name, outcome| match outcome {
            Outcome::Failed(failure) => Some((name, failure)),
            _ => None,
        })
    }

    /// Returns the names, failures and reasons of the cases that failed and are listed as known.
    pub(crate) fn known(&self) -> Vec<(&str, &Failure, &str)> {
        self.by(|name, outcome| match outcome {
            Outcome::Known(failure, why) => Some((name, failure, &**why)),
            _ => None,
        })
    }

    /// Returns the names of the skipped cases, each with the reason.
    pub fn skipped(&self) -> Vec<(&str, &str)> {
        self.by(|name, outcome| match outcome {
            Outcome::Skipped(why) => Some((name, &**why)),
            _ => None,
        })
    }

    fn by<'r, T>(&'r self, pick: impl Fn(&'r str, &'r Outcome) -> Option<T>) -> Vec<T> {
        self.records.iter().filter_map(|record| pick(&record.name, &record.outcome)).collect()
    }

    /// Returns true if at least one case passed and nothing failed.
    pub fn is_success(&self) -> bool {
        self.passed() > 0 && self.failed().is_empty() && self.misnamed.is_empty()
    }

    /// Panics with the whole report unless the run is a success.
    ///
    /// # Panics
    ///
    /// If [`is_success`](Self::is_success) is false.
    #[track_caller]
    pub fn assert_success(&self) {
        assert!(self.is_success(), "{self}");
    }

    /// Returns the table: a row for each operation and variant, sorted.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = BTreeMap::new();
        for record in &self.records {
            let key = (record.group, record.variant.as_str());
            let row = rows.entry(key).or_insert_with(|| Row::new(record, self.arithmetic));
            row.count(record);
        }
        rows.into_values().collect()
    }
}
