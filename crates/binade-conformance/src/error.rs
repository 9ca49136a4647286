//! Errors of subjects.

use binade_core::{Error, ErrorKind};

/// Result of a subject's method.
pub type Result<T, E = SubjectError> = std::result::Result<T, E>;

/// Reason why a subject gave no result.
#[derive(Clone, Debug, PartialEq)]
pub enum SubjectError {
    /// The subject lacks this: a skip.
    Unsupported(String),
    /// The subject refuses its input: a failure, except in cases with wrong input.
    Rejected(ErrorKind, String),
    /// Any other error of the subject: a failure.
    Failed(String),
}

impl SubjectError {
    /// Returns the error of a subject that lacks `what`.
    pub fn unsupported(what: &str) -> Self {
        Self::Unsupported(format!("{what} is not supported"))
    }

    pub(crate) fn failed(what: &str) -> Self {
        Self::Failed(what.to_owned())
    }
}

/// Converts device errors by their kind, so that a subject needs only `?`.
impl<E: Error> From<E> for SubjectError {
    fn from(error: E) -> Self {
        match error.kind() {
            ErrorKind::Unsupported => Self::Unsupported(error.to_string()),
            kind @ (ErrorKind::InvalidArgument | ErrorKind::Mismatch) => {
                Self::Rejected(kind, error.to_string())
            }
            kind => Self::Failed(format!("{kind:?}: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no")]
    struct Of(ErrorKind);

    impl Error for Of {
        fn kind(&self) -> ErrorKind {
            self.0
        }
    }

    #[test]
    fn an_error_is_a_skip_where_it_is_unsupported_rejected_where_the_caller_is_wrong_and_else_a_failure()
     {
        use ErrorKind::{DeviceLost, InvalidArgument, Mismatch, Other, OutOfMemory, Unsupported};
        assert_eq!(SubjectError::from(Of(Unsupported)), SubjectError::Unsupported("no".into()));
        for kind in [InvalidArgument, Mismatch] {
            assert_eq!(SubjectError::from(Of(kind)), SubjectError::Rejected(kind, "no".into()));
        }
        for kind in [DeviceLost, OutOfMemory, Other] {
            assert_eq!(SubjectError::from(Of(kind)), SubjectError::Failed(format!("{kind:?}: no")));
        }
    }
}
