//! How a stage ended.

use std::fmt;

/// How a stage ended. A skip is neither of the other two: it is counted, printed with its reason, and fails where required.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It ran and found nothing wrong; what it counted, if it counts.
    Passed(String),
    /// What was wrong.
    Failed(String),
    /// What was not there to run it.
    Skipped(String),
}

impl Outcome {
    /// A pass with nothing to count.
    pub(crate) fn passed() -> Self {
        Self::Passed(String::new())
    }

    /// One word for the table.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Passed(_) => "passed",
            Self::Failed(_) => "FAILED",
            Self::Skipped(_) => "SKIPPED",
        }
    }

    /// What there is to say besides the word.
    pub(crate) fn note(&self) -> &str {
        let (Self::Passed(note) | Self::Failed(note) | Self::Skipped(note)) = self;
        note
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        if self.note().is_empty() { Ok(()) } else { write!(f, ": {}", self.note()) }
    }
}

/// One row of the closing table.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) stage: &'static str,
    pub(crate) outcome: Outcome,
    pub(crate) seconds: f64,
}
