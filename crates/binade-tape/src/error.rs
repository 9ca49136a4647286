//! What can go wrong on a tape.

use binade_cast_policy::Refusal;
use binade_core::ErrorKind;
use std::sync::Arc;

/// Why a tape refused, or its device did.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum TapeError<E> {
    /// The device's own.
    #[error(transparent)]
    Device(E),
    /// The region's policy refused the operation.
    #[error(transparent)]
    Refused(Refusal),
    /// Operands were made on different tapes.
    #[error(
        "`{op}`: the operands are of two tapes; make both on one, or bring a value over without its gradient, as in \
         `tape.constant(value.tensor().clone())`"
    )]
    TwoTapes {
        /// The operation.
        op: &'static str,
    },
    /// A gradient was asked of something that is no scalar.
    #[error(
        "backward of shape {shape:?}: only a scalar can be differentiated; reduce with `mean()` or `sum()` first"
    )]
    NotScalar {
        /// The shape it has.
        shape: Vec<usize>,
    },
    /// A gradient was asked of something that depends on nothing.
    #[error(
        "backward of a loss that no parameter led to: it was made of constants, of detached values, or under \
         `no_grad`; make weights with `tape.parameter`"
    )]
    Detached,
    /// Two parameters have one name.
    #[error(
        "two parameters are called `{name}`: gradients go by name; register each once, and use its `Var` twice"
    )]
    Duplicate {
        /// The name.
        name: Arc<str>,
    },
    /// Gradients were asked towards something that was not registered.
    #[error(
        "operand {position} of `backward_to` is no parameter of this tape: make it with `tape.parameter`"
    )]
    NotParameter {
        /// Where it stands.
        position: usize,
    },
    /// An operation without a backward pass was asked of values whose gradients are wanted.
    #[error("`{op}` has no backward pass: call it under `tape.no_grad()`, or on detached values")]
    NoBackward {
        /// The operation.
        op: &'static str,
    },
    /// A custom operation was called on nothing.
    #[error(
        "`{op}` has no operands: what depends on nothing is a constant, as in `tape.constant(tensor)`"
    )]
    NoOperands {
        /// The operation.
        op: &'static str,
    },
    /// A custom operation's backward pass gave other than one gradient for each operand.
    #[error(
        "backward of `{op}` gave {found} gradients for {expected} operands: give one for each, `None` for none"
    )]
    GradientCount {
        /// The operation.
        op: &'static str,
        /// How many it gave.
        found: usize,
        /// How many operands it has.
        expected: usize,
    },
}

impl<E> From<E> for TapeError<E> {
    fn from(error: E) -> Self {
        Self::Device(error)
    }
}

impl<E: binade_core::Error> binade_core::Error for TapeError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(error) => error.kind(),
            Self::Refused(refusal) => refusal.kind(),
            Self::NoBackward { .. } => ErrorKind::Unsupported,
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
