//! Adds up the closing lines of tests and of the kit while they pass by, so that a run in which nothing ran can fail.

use std::fmt;

/// Sums over all test binaries of one run, doc tests included.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_added_up_and_other_lines_are_not() {
        let mut tally = Tally::default();
        for line in [
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.01s",
            "test a_case_that_passed_or_failed ... ok",
            "ptx: 3 passed, 1 failed, 5 skipped",
        ] {
            tally.add(line);
        }
        assert_eq!(tally, Tally { passed: 15, failed: 1, skipped: 6 });
    }
}
