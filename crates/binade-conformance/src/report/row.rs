//! A row of a report's table: all cases of one operation and variant.

use super::{Outcome, Record};
use crate::{Agreement, Arithmetic, CaseGroup};

/// Outcomes of the cases of one operation and variant, counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// The operation.
    pub(crate) group: CaseGroup,
    /// Element types, mostly.
    pub(crate) variant: String,
    /// Agreement that the subject had to meet.
    pub(crate) agreement: Agreement,
    /// Worst difference within the agreement, as a share of the allowed one.
    pub(crate) worst: f64,
    /// Cases that passed.
    pub(crate) passed: usize,
    /// Cases that failed.
    pub(crate) failed: usize,
    /// Cases that failed and are listed as known.
    pub(crate) known: usize,
    /// Cases that were skipped.
    pub(crate) skipped: usize,
}

impl Row {
    /// Returns an empty row for cases of this record's operation and variant.
    pub(super) fn new(record: &Record, arithmetic: Arithmetic) -> Self {
        let (group, variant) = (record.group, record.variant.clone());
        let agreement = group.agreement(arithmetic);
        let [passed, failed, known, skipped] = [0; 4];
        Self { group, variant, agreement, worst: 0.0, passed, failed, known, skipped }
    }

    pub(super) fn count(&mut self, record: &Record) {
        match record.outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Known(..) => self.known += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
        self.worst = self.worst.max(record.worst);
    }

    /// Returns the number of cases.
    pub(crate) fn cases(&self) -> usize {
        self.passed + self.failed + self.known + self.skipped
    }

    /// Returns `ok`, `skipped`, `ok, 2 skipped`, `ok, 1 known` or `3 FAILED`.
    pub(crate) fn status(&self) -> String {
        let count = |n: usize, what| if n == 0 { String::new() } else { format!("{n} {what}") };
        let [known, skipped] = [count(self.known, "known"), count(self.skipped, "skipped")];
        match (self.failed, self.passed + self.known) {
            (0, 0) if self.skipped > 0 => "skipped".to_owned(),
            (0, _) => {
                let ok = if self.passed > 0 || self.known == 0 { "ok" } else { "" };
                let parts = [ok, &known, &skipped];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
            }
            (failed, _) => format!("{failed} FAILED"),
        }
    }
}
