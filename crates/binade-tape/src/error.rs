//! Errors of a tape.

use binade_autocast::CastError;
use binade_cast_policy::PolicyError;
use binade_core::{ErrorKind, Handle};
use std::sync::Arc;

/// Reason why a tape, or its device, refused an operation.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum TapeError<E> {
    /// Error of the device.
    #[error(transparent)]
    Device(E),
    /// Refusal by the region's policy.
    #[error(transparent)]
    Refused(PolicyError),
    /// Operands that were made on different tapes.
    #[error(
        "`{op}`: the operands are of two tapes; make both on one, or bring a value over without its gradient, as in \
         `tape.constant(value.tensor().clone())`"
    )]
    TwoTapes {
        /// Name of the operation.
        op: &'static str,
    },
    /// Gradient of a value that is not a scalar.
    #[error(
        "backward of shape {shape:?}: only a scalar can be differentiated; reduce with `mean()` or `sum()` first"
    )]
    NotScalar {
        /// Shape of the value.
        shape: Vec<usize>,
    },
    /// Gradient of a value that depends on no parameter.
    #[error(
        "backward of a loss that no parameter led to: it was made of constants, of detached values, or under \
         `no_grad`; make weights with `tape.parameter`"
    )]
    Detached,
    /// Two parameters with one name.
    #[error(
        "two parameters are called `{name}`: gradients go by name; register each once, and use its `Var` twice"
    )]
    Duplicate {
        /// Name of both.
        name: Arc<str>,
    },
    /// Gradient with respect to a value that is not a registered parameter.
    #[error(
        "operand {position} of `backward_to` is no parameter of this tape: make it with `tape.parameter`"
    )]
    NotParameter {
        /// Position among the operands of `backward_to`.
        position: usize,
    },
    /// Operation without a backward pass, on values whose gradients are wanted.
    #[error("`{op}` has no backward pass: call it under `tape.no_grad()`, or on detached values")]
    NoBackward {
        /// Name of the operation.
        op: &'static str,
    },
    /// Operation whose gradient cannot be recorded, between an input of [`Var::grad`](crate::Var::grad) and the scalar.
    #[error(
        "`{op}` has no double backward: its gradient cannot be recorded; take the gradient without history by `gradient` or \
         `backward`, or detach what leads to the operation"
    )]
    NoDoubleBackward {
        /// Name of the operation.
        op: &'static str,
    },
    /// Custom operation without operands.
    #[error(
        "`{op}` has no operands: what depends on nothing is a constant, as in `tape.constant(tensor)`"
    )]
    NoOperands {
        /// Name of the operation.
        op: &'static str,
    },
    /// Custom backward pass that returned another number of gradients than operands.
    #[error(
        "backward of `{op}` gave {found} gradients for {expected} operands: give one for each, `None` for none"
    )]
    GradientCount {
        /// Name of the operation.
        op: &'static str,
        /// Number of gradients that it returned.
        found: usize,
        /// Number of its operands.
        expected: usize,
    },
}

/// Error of a tape on the device `D`.
pub(crate) type Failed<D> = TapeError<<D as Handle>::Error>;

impl<E> From<E> for TapeError<E> {
    fn from(error: E) -> Self {
        Self::Device(error)
    }
}

impl<E: binade_core::Error> From<CastError<E>> for TapeError<E> {
    fn from(error: CastError<E>) -> Self {
        match error {
            CastError::Refused(refusal) => Self::Refused(refusal),
            CastError::Device { source, .. } => Self::Device(source),
        }
    }
}

impl<E: binade_core::Error> binade_core::Error for TapeError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(error) => error.kind(),
            Self::Refused(refusal) => refusal.kind(),
            Self::NoBackward { .. } | Self::NoDoubleBackward { .. } => ErrorKind::Unsupported,
            Self::TwoTapes { .. }
            | Self::Duplicate { .. }
            | Self::NotParameter { .. }
            | Self::GradientCount { .. } => ErrorKind::Mismatch,
            Self::NotScalar { .. } | Self::NoOperands { .. } | Self::Detached => {
                ErrorKind::InvalidArgument
            }
        }
    }
}
