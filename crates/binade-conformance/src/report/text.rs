//! The printed form of a report.

use super::{Outcome, Report, Row};
use crate::{Agreement, CaseGroup, Failure};
use std::fmt;

/// Number of failures that are printed in full. If there are more, only the first of each operation is: one fault often breaks hundreds of cases.
const IN_FULL: usize = 20;

/// Number of skips for one reason that are printed by name. If there are more, their operations are printed.
const BY_NAME: usize = 3;

impl Report {
    /// Prints the table without the rows in which every case was skipped.
    fn table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "operation        dtype          cases  agreement   worst  status")?;
        for row in self.rows().iter().filter(|row| row.skipped < row.cases()) {
            let (cases, status) = (row.cases(), row.status());
            let Row { group, variant, agreement, .. } = row;
            write!(f, "{group:<15}  {variant:<13}  {cases:>5}  {agreement:<10}")?;
            writeln!(f, "  {:>5}  {status}", worst(row.worst, *agreement))?;
        }
        Ok(())
    }

    /// Prints skips by reason, in the order of the reasons' first skips.
    fn skips(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut reasons: Vec<(&str, Vec<(&str, CaseGroup)>)> = Vec::new();
        for record in &self.records {
            let Outcome::Skipped(why) = &record.outcome else { continue };
            let case = (&*record.name, record.group);
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, cases)) => cases.push(case),
                None => reasons.push((why, vec![case])),
            }
        }
        for (why, cases) in reasons {
            if cases.len() <= BY_NAME {
                cases.iter().try_for_each(|(name, _)| writeln!(f, "skipped {name}: {why}"))?;
            } else {
                let mut groups: Vec<_> = cases.iter().map(|(_, group)| group.to_string()).collect();
                groups.dedup();
                writeln!(f, "skipped {} cases of {}: {why}", cases.len(), groups.join(", "))?;
            }
        }
        Ok(())
    }

    /// Prints failures in full. If there are many, it prints the first of each operation and the number of the others.
    fn failures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.failed();
        let shown = if all.len() <= IN_FULL { all.len() } else { 1 };
        for same in all.chunk_by(|(a, _), (b, _)| operation(a) == operation(b)) {
            for (name, failure) in same.iter().take(shown) {
                writeln!(f, "FAILED {name}\n{failure}{}", rest(self, name))?;
            }
            let (more, operation) = (same.len().saturating_sub(shown), operation(same[0].0));
            if more > 0 {
                writeln!(
                    f,
                    "FAILED {more} more of {operation}: BINADE_CASE='{operation}/' runs them, `Report::failed` lists them"
                )?;
            }
        }
        Ok(())
    }

    /// Returns `12 passed, 1 failed, 2 known to fail, 30 skipped`; counts of listed cases are left out if they are 0.
    fn counts(&self) -> String {
        let told = |n: usize, what| if n == 0 { String::new() } else { format!("{n} {what}, ") };
        let (passed, failed, skipped) = (self.passed(), self.failed().len(), self.skipped().len());
        let known = told(self.known().len(), "known to fail");
        let not_run = told(self.not_run.len(), "known and not run");
        let misnamed = told(self.misnamed.len(), "misnamed");
        format!("{passed} passed, {failed} failed, {misnamed}{known}{not_run}{skipped} skipped")
    }
}

/// Returns the operation of a case of this name.
fn operation(name: &str) -> &str {
    name.split('/').next().unwrap_or(name)
}

/// Returns the worst difference as a share of the allowed one.
fn worst(share: f64, agreement: Agreement) -> String {
    match agreement {
        Agreement::Bits => "0".to_owned(),
        _ => format!("{share:.3}"),
    }
}

/// Returns the lines for a case's name: the sentences that it proves, and how to run it alone.
fn rest(report: &Report, name: &str) -> String {
    let contracts = report.proved_by(name).into_iter().map(|it| format!("  contract   {it}"));
    let alone = format!("  run it alone: BINADE_CASE='{name}'");
    contracts.chain([alone]).collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Report {
    /// Prints the table, the skips by reason, the known failures, the listed cases that were not run, the listed names without a case, the failures
    /// and the counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.subject, self.arithmetic)?;
        self.table(f)?;
        self.skips(f)?;
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
        self.failures(f)?;
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
