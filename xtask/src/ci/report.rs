//! Outcomes of stages, the count of tests, which skips are failures, and the closing report.

use std::fmt;

use crate::Result;

/// The most minutes that the whole may take on two cores.
const MINUTES: f64 = 20.0;

/// The end of a stage, with a note. A skip is neither of the other two: it is counted, printed with its reason, and fails where required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing was found wrong; the count of tests, or the last line that was printed.
    Passed(String),
    /// The fault.
    Failed(String),
    /// The reason why it could not run.
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, note) = match self {
            Self::Passed(note) => ("passed", note),
            Self::Failed(note) => ("FAILED", note),
            Self::Skipped(note) => ("SKIPPED", note),
        };
        // A failure may tell its story over many lines; where a width is given, the report keeps the first.
        match f.width() {
            Some(width) => write!(f, "{word:<width$} {}", note.lines().next().unwrap_or_default()),
            None if note.is_empty() => f.write_str(word),
            None => write!(f, "{word}: {note}"),
        }
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

/// Sums over all test binaries of one stage, doc tests and the kit included, so that a run in which nothing ran can fail.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: u64,
    failed: u64,
    skipped: u64,
}

impl Tally {
    /// Adds `line` if it is a closing line: `test result: ok. 3 passed; 0 failed; 1 ignored; …`, `ptx: 3 passed, 0 failed, 1 skipped`
    /// or `3 passed, 0 failed`.
    pub(super) fn add(&mut self, line: &str) {
        let words: Vec<_> = line.split([' ', ';', ',', '.']).filter(|it| !it.is_empty()).collect();
        let count = |word| {
            let found = words.windows(2).find(|pair| pair[1] == word);
            found.and_then(|pair| pair[0].parse::<u64>().ok())
        };
        if let (Some(passed), Some(failed)) = (count("passed"), count("failed")) {
            self.passed += passed;
            self.failed += failed;
            self.skipped += count("ignored").or_else(|| count("skipped")).unwrap_or(0);
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// One row of the closing report.
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
        writeln!(f, "{:<12} {:>8}  result", "stage", "seconds")?;
        for Record { stage, outcome, seconds } in &self.records {
            writeln!(f, "{}", format!("{stage:<12} {seconds:>8.1}  {outcome:<8}").trim_end())?;
        }
        writeln!(f, "{:<12} {:>8.1}", "whole", self.seconds)?;
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
        let record = |(stage, outcome, seconds): &(&str, Outcome, f64)| Record {
            stage: stage.to_string(),
            outcome: outcome.clone(),
            seconds: *seconds,
        };
        Report {
            records: rows.iter().map(record).collect(),
            seconds: rows.iter().map(|it| it.2).sum(),
        }
    }

    #[test]
    fn every_stage_has_a_row_and_more_than_the_limit_is_said_loudly() {
        let passed = |seconds| ("fmt", Outcome::Passed(String::new()), seconds);
        let skipped = ("deny", Outcome::Skipped("absent\nthere".into()), 0.25);
        let shown = "stage         seconds  result\n\
                     fmt               1.5  passed\n\
                     deny              0.2  SKIPPED  absent\n\
                     whole             1.8\n";
        assert_eq!(report(&[passed(1.5), skipped]).to_string(), shown);
        let slow = report(&[passed(60.0 * MINUTES + 6.0)]).to_string();
        assert!(slow.contains("!!! TOO SLOW: 20.1 minutes"), "{slow}");
    }

    #[test]
    fn one_failure_fails_the_whole_and_so_does_a_run_of_nothing_but_a_skip_only_where_required() {
        let ended = |outcomes: &[Outcome]| {
            let rows: Vec<_> = outcomes.iter().map(|it| ("deny", it.clone(), 1.0)).collect();
            report(&rows).verdict().map_err(|error| error.to_string())
        };
        let (passed, skipped) = (Outcome::Passed(String::new()), Outcome::Skipped("absent".into()));
        let required = |list| insist(list, "deny", skipped.clone());
        let error = ended(&[passed.clone(), required("cpu, deny")]).unwrap_err();
        assert!(error.contains("cargo xtask ci --only deny"));
        assert!(ended(&[passed, required("cpu,denys")]).is_ok());
        assert!(ended(std::slice::from_ref(&skipped)).is_err());
    }

    #[test]
    fn closing_lines_are_added_up_and_other_lines_are_not() {
        let mut tally = Tally::default();
        tally.add("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; finished in 0.01s");
        tally.add("test a_case_that_passed_or_failed ... ok");
        tally.add("ptx: 3 passed, 1 failed, 5 skipped");
        assert_eq!(tally, Tally { passed: 15, failed: 1, skipped: 6 });
    }
}
