//! Errors of states that cannot be imported or exported.

use binade_core::{Error, ErrorKind};

/// Reason why a state cannot be imported or exported.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InterchangeError {
    /// Scale that is not valid in Binade.
    #[error(
        "`{key}` is {value:?}; a scale has to be positive and within 2^-126..=2^126: set one there, 65536.0 for example, \
         and let the run find its own"
    )]
    Scale {
        /// Key of the scale.
        key: String,
        /// Value that was refused.
        value: f64,
    },
    /// Factor that is not a power of two.
    #[error(
        "`{key}` is {value:?}; it has to be {expected}, since rules move the exponent only. Set it to {nearest:?} if that will \
         do; torch's own arithmetic with any factor is `protocol::ProtocolScaler`"
    )]
    Factor {
        /// Key of the factor.
        key: String,
        /// Value that was refused.
        value: f64,
        /// Values that are allowed.
        expected: &'static str,
        /// Nearest value that is allowed.
        nearest: f64,
    },
    /// Counter that is out of range.
    #[error("`{key}` is {value}; it has to be {expected}")]
    Count {
        /// Key of the counter.
        key: String,
        /// Value that was refused.
        value: i64,
        /// Values that are allowed.
        expected: String,
    },
    /// Rule that the library cannot follow.
    #[error(
        "{library} cannot follow this rule: {what}. Choose a rule that it has, or save the state with its rule here"
    )]
    Rule {
        /// Library that lacks the rule.
        library: &'static str,
        /// Part of the rule that the library does not have.
        what: String,
    },
}

impl Error for InterchangeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
