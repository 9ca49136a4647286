//! A report as it is printed.

use super::{Report, Row};
use crate::{Agreement, Failure};
use std::fmt;

impl Report {
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "operation        dtype          cases  agreement   worst  status")?;
        for row in self.rows() {
            let (cases, status) = (row.cases(), row.status());
            let Row { group, variant, agreement, .. } = &row;
            write!(f, "{group:<15}  {variant:<13}  {cases:>5}  {agreement:<10}")?;
            writeln!(f, "  {:>5}  {status}", worst(row.worst, *agreement))?;
        }
        Ok(())
    }

    /// `12 passed, 1 failed, 2 known to fail, 30 skipped`; what is listed is told where there is some.
    fn counts(&self) -> String {
        let told = |n: usize, what| if n == 0 { String::new() } else { format!("{n} {what}, ") };
        let (passed, failed, skipped) = (self.passed(), self.failed().len(), self.skipped().len());
        let known = told(self.known().len(), "known to fail");
        let not_run = told(self.not_run.len(), "known and not run");
        let misnamed = told(self.misnamed.len(), "misnamed");
        format!("{passed} passed, {failed} failed, {misnamed}{known}{not_run}{skipped} skipped")
    }
}

/// The worst difference as a share of what is allowed.
fn worst(share: f64, agreement: Agreement) -> String {
    match agreement {
        Agreement::Bits => "0".to_owned(),
        _ => format!("{share:.3}"),
    }
}

/// Lines that follow from a case's name: which sentences it proves, and how to run it alone.
fn rest(report: &Report, name: &str) -> String {
    let contracts = report.proved_by(name).into_iter().map(|it| format!("  contract   {it}"));
    let alone = format!("  run it alone: BINADE_CASE='{name}'");
    contracts.chain([alone]).collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Report {
    /// The table; then each skip and what was not run with its reason, each failure with its particulars, and the counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.subject, self.arithmetic)?;
        self.table(f)?;
        for (name, why) in self.skipped() {
            writeln!(f, "skipped {name}: {why}")?;
        }
        for (name, failure, why) in self.known() {
            writeln!(f, "known {name}: {why}\n{failure}{}", rest(self, name))?;
        }
        for (name, why) in &self.not_run {
            writeln!(f, "not run {name}: known to fail: {why}")?;
        }
        for (name, why) in &self.misnamed {
            writeln!(
                f,
                "FAILED {name}: no case is called so; remove it from the list ({why}), or correct it"
            )?;
        }
        for (name, failure) in self.failed() {
            writeln!(f, "FAILED {name}\n{failure}{}", rest(self, name))?;
        }
        write!(f, "{}: {}", self.subject, self.counts())?;
        match (self.records.len(), self.skipped().len()) {
            (0, _) => f.write_str("; nothing ran, which is no success: look at BINADE_CASE")?,
            (all, skipped) if all == skipped => {
                f.write_str("; every case was skipped, which is no success")?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = self.worst.as_ref().map_or(String::new(), ToString::to_string);
        let lines = [
            ("inputs", &self.inputs),
            ("got", &self.got),
            ("wanted", &self.wanted),
            ("worst", &worst),
            ("agreement", &self.agreement),
        ];
        for (label, text) in lines.into_iter().filter(|(_, text)| !text.is_empty()) {
            writeln!(f, "  {label:<9}  {text}")?;
        }
        Ok(())
    }
}
