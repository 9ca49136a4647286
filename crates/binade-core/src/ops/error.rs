//! Errors of operands that do not fit.

use crate::{DType, Error, ErrorKind, Op};

/// Reason why an operation cannot be applied to operands of these shapes.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// Shapes of operands that do not agree.
    #[error("{op}: found {}; expected {expected}", shapes(found))]
    Mismatch {
        /// Name of the operation.
        op: &'static str,
        /// Shapes of the operands, in order.
        found: Vec<Vec<usize>>,
        /// Shapes that would have fitted, in terms of axes.
        expected: &'static str,
    },
    /// Argument other than a tensor that is out of range for these shapes.
    #[error("{op}: {argument} for {}; expected {expected}", shapes(found))]
    Argument {
        /// Name of the operation.
        op: &'static str,
        /// Argument and its value.
        argument: String,
        /// Shapes of the operands, in order.
        found: Vec<Vec<usize>>,
        /// Range of the argument.
        expected: &'static str,
    },
    /// Result with more elements than any memory holds.
    #[error("{op}: a tensor of shape {shape:?} is larger than any memory; take smaller extents")]
    TooLarge {
        /// Name of the operation.
        op: &'static str,
        /// Shape of the result.
        shape: Vec<usize>,
    },
}

/// Error of element types that do not fit.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{op}: found {}; expected {expected}: cast them first, or let autocast", types(found))]
pub struct DTypeError {
    /// Name of the operation.
    pub op: &'static str,
    /// Element types of the operands, in order.
    pub found: Vec<DType>,
    /// Types that would have fitted.
    pub expected: &'static str,
}

/// Error of operands that do not fit.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum OperandError {
    /// Shapes that do not fit.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Element types that do not fit.
    #[error(transparent)]
    DType(#[from] DTypeError),
}

impl ShapeError {
    /// Creates a mismatch of `op`'s operands.
    pub(crate) fn mismatch(op: Op, found: &[&[usize]], expected: &'static str) -> Self {
        Self::Mismatch { op: op.name(), found: owned(found), expected }
    }

    /// Creates the error of an `argument` of `op` out of range.
    pub(crate) fn argument(
        op: Op,
        argument: impl Into<String>,
        found: &[&[usize]],
        expected: &'static str,
    ) -> Self {
        Self::Argument { op: op.name(), argument: argument.into(), found: owned(found), expected }
    }
}

impl Error for ShapeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Mismatch { .. } => ErrorKind::Mismatch,
            Self::Argument { .. } | Self::TooLarge { .. } => ErrorKind::InvalidArgument,
        }
    }
}

impl Error for DTypeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Mismatch
    }
}

impl Error for OperandError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Shape(error) => error.kind(),
            Self::DType(error) => error.kind(),
        }
    }
}

fn owned(shapes: &[&[usize]]) -> Vec<Vec<usize>> {
    shapes.iter().map(|shape| shape.to_vec()).collect()
}

/// Returns the shapes as text: `[2, 3] and [4, 5]`.
fn shapes(shapes: &[Vec<usize>]) -> String {
    let shapes: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
    shapes.join(" and ")
}

/// Returns the types as text: `bf16, f32`.
fn types(dtypes: &[DType]) -> String {
    let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
    names.join(", ")
}
