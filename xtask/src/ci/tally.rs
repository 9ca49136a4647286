//! Adds up the closing lines of `cargo test` while they pass by, so that a run in which nothing ran can fail.

use std::{fmt, slice};

use crate::{Result, ci::outcome::Outcome, shell::Call};

/// Sums over all test binaries of one run, doc tests included.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Tally {
    /// Adds `line` if it is a closing line, such as `test result: ok. 3 passed; 0 failed; 1 ignored; …`.
    fn add(&mut self, line: &str) {
        let Some(counts) = line.strip_prefix("test result: ") else { return };
        self.passed += count(counts, "passed");
        self.failed += count(counts, "failed");
        self.ignored += count(counts, "ignored");
    }
}

/// The number before `word`, or 0.
fn count(counts: &str, word: &str) -> u64 {
    let words: Vec<_> = counts.split([' ', ';', '.']).filter(|part| !part.is_empty()).collect();
    words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok()).unwrap_or(0)
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} ignored", self.passed, self.failed, self.ignored)
    }
}

/// Runs `call`, a `cargo test` or a binary of tests, shows what it prints, and fails also when not one test ran.
pub(crate) fn run(call: &Call) -> Result<Outcome> {
    sum("tests", slice::from_ref(call))
}

/// The same of several, one after the other and as one: a test must have run in one of them. Ends with the first that fails.
pub(crate) fn sum(label: &str, calls: &[Call]) -> Result<Outcome> {
    let mut tally = Tally::default();
    for call in calls {
        if !call.aloud(label, |line| tally.add(line))? {
            return Ok(verdict(&tally, false));
        }
    }
    Ok(verdict(&tally, true))
}

fn verdict(tally: &Tally, ended_well: bool) -> Outcome {
    match tally {
        _ if !ended_well => Outcome::Failed(tally.to_string()),
        Tally { passed: 0, .. } => Outcome::Failed(format!("{tally}: nothing ran")),
        _ => Outcome::Passed(tally.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &str = "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s";
    const BAD: &str = "test result: FAILED. 4 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s";

    #[test]
    fn closing_lines_are_added_up_and_other_lines_are_not() {
        let mut tally = Tally::default();
        for line in ["running 13 tests", OK, "test a_test ... ok", BAD] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 16, failed: 2, ignored: 1 });
    }

    #[test]
    fn a_run_without_tests_fails() {
        assert!(matches!(verdict(&Tally::default(), true), Outcome::Failed(_)));
    }

    #[test]
    fn a_run_that_ended_badly_fails_whatever_was_counted() {
        assert!(matches!(
            verdict(&Tally { passed: 1, ..Tally::default() }, false),
            Outcome::Failed(_)
        ));
    }

    #[test]
    fn a_run_with_a_test_that_passed_passes() {
        assert_eq!(
            verdict(&Tally { passed: 1, ..Tally::default() }, true),
            Outcome::Passed("1 passed, 0 failed, 0 ignored".into())
        );
    }
}
