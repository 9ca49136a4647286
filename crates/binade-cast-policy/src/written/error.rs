//! Why a text is no policy in TOML.

use binade_core::ErrorKind;

/// Why a text is no policy in TOML. Lines count from 1; keys are told with the tables they are in.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TomlError {
    /// It is not TOML.
    #[error("{at}not TOML: {message}", at = at(*line))]
    Syntax {
        /// Where; the parser does not tell where a key has more dots than it follows.
        line: Option<usize>,
        /// What the parser says.
        message: String,
    },
    /// A key that means nothing there.
    #[error("line {line}: unknown key `{key}`: did you mean `{nearest}`? There are {valid}")]
    UnknownKey {
        /// Where.
        line: usize,
        /// The key.
        key: String,
        /// The valid one that it resembles most.
        nearest: &'static str,
        /// All valid ones.
        valid: String,
    },
    /// A word that is none of those the key takes.
    #[error(
        "line {line}: `{key}` cannot be `{value}`: did you mean `{nearest}`? There are {valid}"
    )]
    UnknownValue {
        /// Where.
        line: usize,
        /// The key.
        key: String,
        /// The word.
        value: String,
        /// The valid one that it resembles most.
        nearest: &'static str,
        /// All valid ones.
        valid: String,
    },
    /// A value of another kind than the key takes.
    #[error("line {line}: `{key}` has to be {wanted}, and is of type {found}")]
    WrongType {
        /// Where.
        line: usize,
        /// The key.
        key: String,
        /// What it takes.
        wanted: &'static str,
        /// TOML's name for what it has.
        found: &'static str,
    },
    /// A bound that is NaN, with which no number compares.
    #[error(
        "line {line}: `{key}` is NaN, and nothing is above, below or equal to that: give a number"
    )]
    NaN {
        /// Where.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key that has to be there.
    #[error("line {line}: `{key}` is missing: it has to be {wanted}")]
    Missing {
        /// Where the table begins.
        line: usize,
        /// The key.
        key: String,
        /// What it takes.
        wanted: String,
    },
    /// Overrides where a table alone was asked for.
    #[error(
        "line {line}: `overrides` are a layer over the table: read them with `Overrides::from_toml`"
    )]
    Layered {
        /// Where the first begins.
        line: usize,
    },
}

fn at(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

impl binade_core::Error for TomlError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
