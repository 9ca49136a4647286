//! Errors of every GPU backend, and those of one driver inside them.

use binade_core::ops::{DTypeError, OperandError, ShapeError};
use binade_core::{DType, ErrorKind, MatchError, TrainError};
use binade_master_weights::ConfigError;
use std::sync::Arc;

/// An error that only one driver has, and the names by which messages speak of its backend.
pub trait DriverError: binade_core::Error + Clone + PartialEq {
    /// The backend's name in a sentence: `CUDA`.
    const BACKEND: &'static str;
    /// The type of the device's handle: `Cuda`.
    const HANDLE: &'static str;
}

/// Error of a GPU backend: a refused operation, or the driver's own error `F`.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error<F: DriverError> {
    /// The driver's own error.
    #[error(transparent)]
    Driver(F),
    /// A value of another handle.
    #[error(
        "a value of another `{}` handle, whose work is in no order with this one's; open the device once and clone the handle, \
         or bring the value over by way of the host",
        F::HANDLE
    )]
    Foreign,
    /// Operands whose shapes do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Operands whose element types do not fit.
    #[error(transparent)]
    DType(#[from] DTypeError),
    /// Number of values that differs from that of the shape.
    #[error("{found} {what} for shape {shape:?}, which takes {expected}")]
    Length {
        /// Elements or bytes.
        what: &'static str,
        /// Number of values that were given.
        found: usize,
        /// The shape asked for.
        shape: Vec<usize>,
        /// Number of values that the shape takes.
        expected: usize,
    },
    /// Index or label outside its table. The device found it in an operation since the last read.
    #[error("{op}: index {index} at position {position}; expected 0 ≤ index < {limit}")]
    Index {
        /// The operation's name.
        op: &'static str,
        /// The index.
        index: i64,
        /// Its position among the indices.
        position: usize,
        /// Number of rows or classes.
        limit: usize,
    },
    /// Sets of parameters or gradients that do not match.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// Configuration that does not fit the parameters.
    #[error(transparent)]
    OptimizerConfig(#[from] ConfigError),
    /// Error of training that every device can return.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Parameter in memory that another program has lent read-only.
    #[error(
        "`{name}` lies in memory that was lent to be read, and a step writes to its parameters; adopt it to be written to"
    )]
    ReadOnly {
        /// Name of the parameter.
        name: Arc<str>,
    },
    /// A clipping limit that is not a positive number.
    #[error("{what}: a limit of {value} given, takes a positive number")]
    Limit {
        /// The operation's name.
        what: &'static str,
        /// The number given.
        value: f32,
    },
    /// A master store without a kernel.
    #[error(
        "the {} backend has no kernel for {what}; it keeps masters by `Copy`, `Remainder`, `Stochastic`, `Kahan` and \
         `ScaledF16`, or none by `NoMaster`",
        F::BACKEND
    )]
    Store {
        /// The store that the configuration asks for.
        what: String,
    },
    /// An element type without kernels.
    #[error(
        "the {} backend cannot {what} {dtype}; it computes in bf16, f16 and f32, and stores and casts e4m3 and e5m2 as well",
        F::BACKEND
    )]
    Unsupported {
        /// The operation asked for.
        what: &'static str,
        /// The element type.
        dtype: DType,
    },
}

impl<F: DriverError> binade_core::Error for Error<F> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Driver(error) => error.kind(),
            Self::Shape(error) => error.kind(),
            Self::Train(error) => error.kind(),
            Self::OptimizerConfig(error) => error.kind(),
            Self::Store { .. } | Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::DType(_) | Self::Length { .. } | Self::Match(_) | Self::Foreign => {
                ErrorKind::Mismatch
            }
            Self::Limit { .. } | Self::Index { .. } | Self::ReadOnly { .. } => {
                ErrorKind::InvalidArgument
            }
        }
    }
}

impl<F: DriverError> From<F> for Error<F> {
    fn from(error: F) -> Self {
        Self::Driver(error)
    }
}

impl<F: DriverError> From<OperandError> for Error<F> {
    fn from(error: OperandError) -> Self {
        match error {
            OperandError::Shape(error) => Self::Shape(error),
            OperandError::DType(error) => Self::DType(error),
        }
    }
}
