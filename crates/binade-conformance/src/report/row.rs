//! A row of a report's table: all cases of one operation and variant.

use super::{Outcome, Record};
use crate::{Agreement, Arithmetic, Operation};

/// How the cases of one operation and variant ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The operation.
    pub operation: Operation,
    /// Element types, mostly.
    pub variant: String,
    /// How near the subject had to come.
    pub agreement: Agreement,
    /// The worst difference within the agreement, as a share of what it allows.
    pub worst: f64,
    /// Cases that passed.
    pub passed: usize,
    /// Cases that failed.
    pub failed: usize,
    /// Cases that were skipped.
    pub skipped: usize,
}

impl Row {
    /// A row for cases like this one, without any yet.
    pub(super) fn new(record: &Record, arithmetic: Arithmetic) -> Self {
        let (operation, variant) = (record.operation, record.variant.clone());
        let agreement = operation.agreement(&arithmetic);
        Self { operation, variant, agreement, worst: 0.0, passed: 0, failed: 0, skipped: 0 }
    }

    pub(super) fn count(&mut self, record: &Record) {
        match record.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
        self.worst = self.worst.max(record.worst);
    }

    /// How many cases there were.
    pub fn cases(&self) -> usize {
        self.passed + self.failed + self.skipped
    }

    /// `ok`, `skipped`, `ok, 2 skipped` or `3 FAILED`.
    pub fn status(&self) -> String {
        match (self.failed, self.skipped, self.passed) {
            (0, 0, _) => "ok".to_owned(),
            (0, _, 0) => "skipped".to_owned(),
            (0, skipped, _) => format!("ok, {skipped} skipped"),
            (failed, _, _) => format!("{failed} FAILED"),
        }
    }
}
