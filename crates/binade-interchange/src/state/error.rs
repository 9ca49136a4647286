//! Errors of states that cannot be carried over.

use binade_core::{Error, ErrorKind};

/// Reason why a state cannot be imported or exported.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InterchangeError {
    /// A scale that cannot be one here.
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
    /// A factor that is no power of two.
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
    /// A counter that cannot be one.
    #[error("`{key}` is {value}; it has to be {expected}")]
    Count {
        /// Key of the counter.
        key: String,
        /// Value that was refused.
        value: i64,
        /// Values that are allowed.
        expected: String,
    },
    /// A rule that moves the scale as the library cannot.
    #[error(
        "{library} cannot follow this rule: {what}. Choose a rule that it has, or save the state with its rule here"
    )]
    Rule {
        /// Library that lacks the rule.
        library: &'static str,
        /// Part of the rule that it does not have.
        what: String,
    },
}

impl Error for InterchangeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::InvalidArgument
    }
}
