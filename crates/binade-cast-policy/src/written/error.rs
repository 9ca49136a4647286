//! Errors of policies in TOML.

use binade_core::ErrorKind;

/// Reason why a text is no policy in TOML. Lines count from 1; keys are named with the tables they are in.
#[non_exhaustive]
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TomlError {
    /// Text that is not TOML.
    #[error("{at}not TOML: {message}", at = at(*line))]
    Syntax {
        /// Number of the line; the parser does not tell it for a key with more dots than it follows.
        line: Option<usize>,
        /// Message of the parser.
        message: String,
    },
    /// Key that is unknown there.
    #[error("line {line}: unknown key `{key}`: did you mean `{nearest}`? There are {valid}")]
    UnknownKey {
        /// Number of the line.
        line: usize,
        /// Name of the key.
        key: String,
        /// Valid key that resembles it most.
        nearest: &'static str,
        /// List of the valid keys.
        valid: String,
    },
    /// Word that the key does not take.
    #[error(
        "line {line}: `{key}` cannot be `{value}`: did you mean `{nearest}`? There are {valid}"
    )]
    UnknownValue {
        /// Number of the line.
        line: usize,
        /// Name of the key.
        key: String,
        /// Word that stands there.
        value: String,
        /// Valid word that resembles it most.
        nearest: &'static str,
        /// List of the valid words.
        valid: String,
    },
    /// Value of another kind than the key takes.
    #[error("line {line}: `{key}` has to be {wanted}, and is of type {found}")]
    WrongType {
        /// Number of the line.
        line: usize,
        /// Name of the key.
        key: String,
        /// Kind that the key takes.
        wanted: &'static str,
        /// TOML's name for the kind found.
        found: &'static str,
    },
    /// Bound that is NaN, with which no number compares.
    #[error(
        "line {line}: `{key}` is NaN, and nothing is above, below or equal to that: give a number"
    )]
    NaN {
        /// Number of the line.
        line: usize,
        /// Name of the key.
        key: String,
    },
    /// Key that is missing.
    #[error("line {line}: `{key}` is missing: it has to be {wanted}")]
    Missing {
        /// Number of the line on which the table begins.
        line: usize,
        /// Name of the key.
        key: String,
        /// Kind that the key takes.
        wanted: String,
    },
    /// Overrides in a text that should be a table alone.
    #[error(
        "line {line}: `overrides` are a layer over the table: read them with `Overrides::from_toml`"
    )]
    Layered {
        /// Number of the line on which the first begins.
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
