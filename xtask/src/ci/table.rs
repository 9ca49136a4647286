//! The closing table: one row a stage, the total, and what went wrong.

use std::fmt;

use crate::{
    Result,
    ci::outcome::{Outcome, Record},
};

/// The most that the whole may take, in seconds: half an hour on two cores.
const LIMIT: f64 = 30.0 * 60.0;

pub(crate) struct Table {
    records: Vec<Record>,
    /// From the first stage to the last: less than all of theirs, where some ran side by side.
    seconds: f64,
}

impl Table {
    pub(crate) fn new(records: Vec<Record>, seconds: f64) -> Self {
        Self { records, seconds }
    }

    fn failed(&self) -> Vec<&'static str> {
        let failed =
            self.records.iter().filter(|record| matches!(record.outcome, Outcome::Failed(_)));
        failed.map(|record| record.stage).collect()
    }

    /// An error when a stage failed, or when nothing ran at all.
    pub(crate) fn verdict(&self) -> Result<()> {
        let failed = self.failed();
        if !failed.is_empty() {
            let again = failed.join(" ");
            return Err(format!(
                "{} failed; again with `cargo xtask ci --only {again}`",
                failed.join(", ")
            )
            .into());
        }
        if self.records.iter().all(|record| matches!(record.outcome, Outcome::Skipped(_))) {
            return Err("every stage was skipped: nothing was checked".into());
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<14} {:<8} {:>8}", "stage", "result", "seconds")?;
        for Record { stage, outcome, seconds } in &self.records {
            // A failure may tell its story over many lines; the table keeps the first.
            let note = outcome.note().lines().next().unwrap_or_default();
            writeln!(
                f,
                "{}",
                format!("{stage:<14} {:<8} {seconds:>8.1}  {note}", outcome.word()).trim_end()
            )?;
        }
        writeln!(f, "{:<14} {:<8} {:>8.1}", "whole", "", self.seconds)?;
        if self.seconds > LIMIT {
            let minutes = self.seconds / 60.0;
            writeln!(
                f,
                "\n!!! TOO SLOW: {minutes:.0} minutes, and the whole must stay under 30. Move what is slow to --full."
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&'static str, Outcome, f64)]) -> Table {
        let record = |&(stage, ref outcome, seconds): &_| Record {
            stage,
            outcome: Outcome::clone(outcome),
            seconds,
        };
        Table::new(rows.iter().map(record).collect(), rows.iter().map(|row| row.2).sum())
    }

    #[test]
    fn every_stage_has_a_row_and_the_whole_its_time() {
        let shown = table(&[
            ("fmt", Outcome::passed(), 1.5),
            ("deny", Outcome::Skipped("absent".into()), 0.25),
        ])
        .to_string();
        assert_eq!(
            shown,
            "stage          result    seconds\n\
             fmt            passed        1.5\n\
             deny           SKIPPED       0.2  absent\n\
             whole                        1.8\n"
        );
    }

    #[test]
    fn one_failure_fails_the_whole_and_says_how_to_run_it_again() {
        let failed = table(&[
            ("fmt", Outcome::passed(), 1.0),
            ("docs", Outcome::Failed("broken link".into()), 1.0),
        ]);
        assert!(failed.verdict().unwrap_err().to_string().contains("cargo xtask ci --only docs"));
    }

    #[test]
    fn a_skip_beside_a_pass_passes() {
        assert!(
            table(&[
                ("fmt", Outcome::passed(), 1.0),
                ("deny", Outcome::Skipped("absent".into()), 0.0)
            ])
            .verdict()
            .is_ok()
        );
    }

    #[test]
    fn a_run_in_which_nothing_ran_fails() {
        assert!(table(&[("deny", Outcome::Skipped("absent".into()), 0.0)]).verdict().is_err());
        assert!(table(&[]).verdict().is_err());
    }

    #[test]
    fn more_than_half_an_hour_is_said_loudly() {
        assert!(
            table(&[("tests", Outcome::passed(), LIMIT + 1.0)])
                .to_string()
                .contains("!!! TOO SLOW: 30 minutes")
        );
        assert!(!table(&[("tests", Outcome::passed(), LIMIT)]).to_string().contains("!!!"));
    }
}
