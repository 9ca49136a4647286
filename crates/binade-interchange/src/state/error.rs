//! Dictionaries that are no state, and states that cannot be carried over.

use binade_core::{Error, ErrorKind};

/// Why a state cannot be read, imported or exported.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InterchangeError {
    /// A key that the library always saves is not there.
    #[error(
        "{library}'s state has no `{key}`, where {expected} belongs: is it this library's scaler state, and whole?"
    )]
    Missing {
        /// Whose state was read.
        library: &'static str,
        /// The key.
        key: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A key that the library does not save.
    #[error(
        "{library}'s state has a key `{key}` that is not known here; it has {known}. Remove it if it means nothing"
    )]
    Unknown {
        /// Whose state was read.
        library: &'static str,
        /// The key.
        key: String,
        /// All that are known.
        known: String,
    },
    /// A value of another type.
    #[error("`{key}` of {library}'s state is {found}; it has to be {expected}")]
    Kind {
        /// Whose state was read.
        library: &'static str,
        /// The key.
        key: String,
        /// What belongs there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A scale that cannot be one here.
    #[error(
        "`{key}` is {value:?}; a scale has to be positive and within 2^-126..=2^126: set one there, 65536.0 for example, \
         and let the run find its own"
    )]
    Scale {
        /// The key.
        key: String,
        /// The value refused.
        value: f64,
    },
    /// A factor that is not in binades.
    #[error(
        "`{key}` is {value:?}; it has to be {expected}, since rules move the exponent only. Set it to {nearest:?} if that will \
         do; torch's own arithmetic with any factor is `protocol::ProtocolScaler`"
    )]
    Factor {
        /// The key.
        key: String,
        /// The value refused.
        value: f64,
        /// What it has to be.
        expected: &'static str,
        /// The nearest one that is.
        nearest: f64,
    },
    /// A counter that cannot be one.
    #[error("`{key}` is {value}; it has to be {expected}")]
    Count {
        /// The key.
        key: String,
        /// The value refused.
        value: i64,
        /// What it has to be.
        expected: String,
    },
    /// A rule that moves the scale as the library cannot.
    #[error(
        "{library} cannot follow this rule: {what}. Choose a rule that it has, or save the state with its rule here"
    )]
    Rule {
        /// Which library.
        library: &'static str,
        /// What it does not have.
        what: String,
    },
}

impl Error for InterchangeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
