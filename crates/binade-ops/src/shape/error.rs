//! Errors of shapes that do not fit.

use binade_core::{Error, ErrorKind, Op};

/// Reason why an operation cannot be applied to operands of these shapes.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// Shapes of operands that do not agree.
    #[error("{op}: found {}; expected {expected}", list(found))]
    Mismatch {
        /// Name of the operation.
        op: &'static str,
        /// Shapes of the operands, in order.
        found: Vec<Vec<usize>>,
        /// Shapes that would have fitted, in terms of axes.
        expected: &'static str,
    },
    /// Argument other than a tensor that is out of range for these shapes.
    #[error("{op}: {argument} for {}; expected {expected}", list(found))]
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

impl ShapeError {
    /// Creates a mismatch of `op`'s operands.
    pub fn mismatch(op: Op, found: &[&[usize]], expected: &'static str) -> Self {
        Self::Mismatch { op: op.name(), found: owned(found), expected }
    }

    /// Creates the error of an `argument` of `op` out of range.
    pub fn argument(
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

fn owned(shapes: &[&[usize]]) -> Vec<Vec<usize>> {
    shapes.iter().map(|shape| shape.to_vec()).collect()
}

/// Returns the shapes as text: `[2, 3] and [4, 5]`.
fn list(shapes: &[Vec<usize>]) -> String {
    let shapes: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
    shapes.join(" and ")
}
