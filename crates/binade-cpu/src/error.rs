//! What can go wrong on the CPU.

use binade_core::{DType, ErrorKind, MatchError, TrainError};
use binade_grad_scaler::ClipGroupError;
use binade_master_weights::{PlanError, step::LengthError};
use binade_ops::{DTypeError, OperandError, ShapeError};

/// Why the CPU refused an operation.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The operands' shapes do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The operands' element types do not fit.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// Not as many values as the shape has room for.
    #[error("{found} {what} for shape {shape:?}, which takes {expected}")]
    Length {
        /// Elements or bytes.
        what: &'static str,
        /// How many were given.
        found: usize,
        /// The shape asked for.
        shape: Vec<usize>,
        /// How many it takes.
        expected: usize,
    },
    /// An index or label that points nowhere.
    #[error("{op}: index {index} at position {position}; expected 0 ≤ index < {limit}")]
    Index {
        /// The operation's name.
        op: &'static str,
        /// The index.
        index: i64,
        /// Where it stands among the indices.
        position: usize,
        /// How many rows or classes there are.
        limit: usize,
    },
    /// Two sets disagree about a parameter.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// A plan that does not go with the parameters.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Slices that do not go together: a defect of whoever calls, since sets are matched before.
    #[error(transparent)]
    Step(#[from] LengthError),
    /// Refused by training on every device.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A limit that is no limit.
    #[error("{what}: a limit of {value} given, takes a positive number")]
    Limit {
        /// The operation's name.
        what: &'static str,
        /// The number given.
        value: f32,
    },
    /// Groups to clip by that do not go with the gradients.
    #[error(transparent)]
    ClipGroup(#[from] ClipGroupError),
    /// An element type that the CPU does not store, or cannot convert.
    #[error("the CPU cannot {what} {dtype}; it computes with bf16, f16 and f32")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
        /// The element type.
        dtype: DType,
    },
}

impl binade_core::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Shape(error) => error.kind(),
            Self::ClipGroup(error) => error.kind(),
            Self::Train(error) => error.kind(),
            Self::DType(_)
            | Self::Length { .. }
            | Self::Match(_)
            | Self::Plan(_)
            | Self::Step(_) => ErrorKind::Mismatch,
            Self::Index { .. } | Self::Limit { .. } => ErrorKind::InvalidArgument,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
        }
    }
}

impl From<OperandError> for Error {
    fn from(error: OperandError) -> Self {
        match error {
            OperandError::Shape(error) => Self::Shape(error),
            OperandError::DType(error) => Self::DType(error),
        }
    }
}
