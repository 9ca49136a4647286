//! Findings of checks.

use std::fmt;

use regex_lite::Regex;

use crate::Result;

/// One breach: its place, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Issue {
    pub(crate) path: String,
    /// From 1; 0 when the file is missing or the breach is of the file as a whole.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Issue {
    pub(crate) fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Prints one line a breach; any is an error.
pub(crate) fn verdict(issues: &[Issue], of: &str) -> Result<()> {
    for issue in issues {
        println!("{issue}");
    }
    match issues.len() {
        0 => Ok(()),
        count => Err(format!("{count} things to mend in the {of}").into()),
    }
}

/// The regular expression of a pattern that stands in this program.
///
/// # Panics
///
/// Where the pattern is none, which a test of its rule shows.
pub(crate) fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).unwrap_or_else(|error| panic!("`{pattern}`: {error}"))
}
