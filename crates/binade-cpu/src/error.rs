//! Errors of the CPU.

use binade_core::ops::{DTypeError, OperandError, ShapeError};
use binade_core::{DType, ErrorKind, MatchError, TrainError};
use binade_master_weights::{ConfigError, step::LengthError};

/// Reason why the CPU refused an operation.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Operands whose shapes do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Operands whose element types do not fit.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// Number of values that does not fit the shape.
    #[error("{found} {what} for shape {shape:?}, which takes {expected}")]
    Length {
        /// Unit of the count: elements or bytes.
        what: &'static str,
        /// Number of values given.
        found: usize,
        /// Requested shape.
        shape: Vec<usize>,
        /// Number of values for the shape.
        expected: usize,
    },
    /// Index or label out of range.
    #[error("{op}: index {index} at position {position}; expected 0 ≤ index < {limit}")]
    Index {
        /// Name of the operation.
        op: &'static str,
        /// Value of the index.
        index: i64,
        /// Position among the indices.
        position: usize,
        /// Number of rows or classes.
        limit: usize,
    },
    /// Sets that disagree about a parameter.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// Configuration of an optimizer that does not fit the parameters.
    #[error(transparent)]
    OptimizerConfig(#[from] ConfigError),
    /// Slices of different length: a bug of the caller, since sets are matched before.
    #[error(transparent)]
    Step(#[from] LengthError),
    /// Error of training that every device has.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Limit that is not positive.
    #[error("{what}: a limit of {value} given, takes a positive number")]
    Limit {
        /// Name of the operation.
        what: &'static str,
        /// Value of the limit.
        value: f32,
    },
    /// Element type that the CPU does not store, or cannot convert.
    #[error("the CPU cannot {what} {dtype}; it computes with bf16, f16 and f32")]
    Unsupported {
        /// Requested operation.
        what: &'static str,
        /// Element type.
        dtype: DType,
    },
}

impl binade_core::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Shape(error) => error.kind(),
            Self::Train(error) => error.kind(),
            Self::DType(_)
            | Self::Length { .. }
            | Self::Match(_)
            | Self::OptimizerConfig(_)
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
