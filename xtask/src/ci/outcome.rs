//! How stages ended, which skips are failures, and the closing report.

use std::fmt;

use crate::Result;

/// The most minutes that the whole may take on two cores.
const MINUTES: f64 = 16.0;

/// How a stage ended. A skip is neither of the other two: it is counted, printed with its reason, and fails where required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing was found wrong; the count of tests, or the last line that was printed.
    Passed(String),
    /// The fault.
    Failed(String),
    /// The reason why it could not run.
    Skipped(String),
}

impl Outcome {
    /// The word for the report, and the text besides.
    fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Passed(note) => ("passed", note),
            Self::Failed(note) => ("FAILED", note),
            Self::Skipped(note) => ("SKIPPED", note),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, note) = self.words();
        if note.is_empty() { f.write_str(word) } else { write!(f, "{word}: {note}") }
    }
}

/// `outcome`, unless it is a skip of something in `required`, the comma list of `BINADE_REQUIRE`.
pub(super) fn insist(required: &str, name: &str, outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Skipped(why) if required.split(',').any(|it| it.trim() == name) => {
            Outcome::Failed(format!("BINADE_REQUIRE names `{name}`, but it was skipped: {why}"))
        }
        other => other,
    }
}

/// One row of the closing report.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) stage: String,
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
}

/// Records in the order of stages, and the seconds from the first to the last: fewer than all of theirs where some ran side by side.
pub(super) struct Report {
    pub(super) records: Vec<Record>,
    pub(super) seconds: f64,
}

impl Report {
    /// An error when a stage failed, or when nothing ran at all.
    pub(super) fn verdict(&self) -> Result<()> {
        let failed = self.records.iter().filter(|it| matches!(it.outcome, Outcome::Failed(_)));
        let failed: Vec<_> = failed.map(|record| record.stage.as_str()).collect();
        if !failed.is_empty() {
            let again = format!("again with `cargo xtask ci --only {}`", failed.join(" "));
            return Err(format!("{} failed; {again}", failed.join(", ")).into());
        }
        if self.records.iter().all(|record| matches!(record.outcome, Outcome::Skipped(_))) {
            return Err("every stage was skipped: nothing was checked".into());
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12} {:<8} {:>8}", "stage", "result", "seconds")?;
        for Record { stage, outcome, seconds } in &self.records {
            // A failure may tell its story over many lines; the report keeps the first.
            let (word, note) = outcome.words();
            let note = note.lines().next().unwrap_or_default();
            writeln!(f, "{}", format!("{stage:<12} {word:<8} {seconds:>8.1}  {note}").trim_end())?;
        }
        writeln!(f, "{:<12} {:<8} {:>8.1}", "whole", "", self.seconds)?;
        let minutes = self.seconds / 60.0;
        if minutes > MINUTES {
            let advice = "move what is slow to --full";
            writeln!(f, "\n!!! TOO SLOW: {minutes:.1} minutes, at most {MINUTES}: {advice}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rows: &[(&str, Outcome, f64)]) -> Report {
        let records = rows.iter().cloned();
        let records = records.map(|(stage, outcome, seconds)| Record {
            stage: stage.into(),
            outcome,
            seconds,
        });
        Report { records: records.collect(), seconds: rows.iter().map(|row| row.2).sum() }
    }

    #[test]
    fn every_stage_has_a_row_and_more_than_the_limit_is_said_loudly() {
        let passed = |seconds| ("fmt", Outcome::Passed(String::new()), seconds);
        let skipped = ("deny", Outcome::Skipped("absent\nthere".into()), 0.25);
        let shown = "stage        result    seconds\n\
                     fmt          passed        1.5\n\
                     deny         SKIPPED       0.2  absent\n\
                     whole                      1.8\n";
        assert_eq!(report(&[passed(1.5), skipped]).to_string(), shown);
        let slow = report(&[passed(60.0 * MINUTES + 6.0)]).to_string();
        assert!(slow.contains("!!! TOO SLOW: 16.1 minutes"), "{slow}");
    }

    #[test]
    fn one_failure_fails_the_whole_and_so_does_a_run_of_nothing_but_a_skip_only_where_required() {
        let row = |outcome| ("deny", outcome, 1.0);
        let (passed, skipped) =
            (Outcome::Passed(String::new()), || Outcome::Skipped("absent".into()));
        let error =
            report(&[row(passed.clone()), row(insist("cpu, deny", "deny", skipped()))]).verdict();
        assert!(error.unwrap_err().to_string().contains("cargo xtask ci --only deny"));
        assert!(
            report(&[row(passed), row(insist("cpu,denys", "deny", skipped()))]).verdict().is_ok()
        );
        assert!(report(&[row(skipped())]).verdict().is_err());
    }
}
