//! Operands that do not fit.

use binade_core::{Error, ErrorKind, Op};

/// Why an operation cannot be applied to operands of these shapes.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ShapeError {
    /// The operands' shapes do not agree.
    #[error("{op}: found {}; expected {expected}", list(found))]
    Mismatch {
        /// The operation's name.
        op: &'static str,
        /// The shapes of the operands, in order.
        found: Vec<Vec<usize>>,
        /// What would have fitted, in terms of axes.
        expected: &'static str,
    },
    /// An argument other than a tensor is outside its range for these shapes.
    #[error("{op}: {argument} for {}; expected {expected}", list(found))]
    Argument {
        /// The operation's name.
        op: &'static str,
        /// The argument and its value.
        argument: String,
        /// The shapes of the operands, in order.
        found: Vec<Vec<usize>>,
        /// The range.
        expected: &'static str,
    },
    /// The result would have more elements than any memory holds.
    #[error("{op}: a tensor of shape {shape:?} is larger than any memory; take smaller extents")]
    TooLarge {
        /// The operation's name.
        op: &'static str,
        /// The result's shape.
        shape: Vec<usize>,
    },
}

impl ShapeError {
    /// A mismatch of `op`'s operands.
    pub fn mismatch(op: Op, found: &[&[usize]], expected: &'static str) -> Self {
        Self::Mismatch { op: op.name(), found: owned(found), expected }
    }

    /// An `argument` of `op` out of range.
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

/// `[2, 3] and [4, 5]`.
fn list(shapes: &[Vec<usize>]) -> String {
    let shapes: Vec<String> = shapes.iter().map(|shape| format!("{shape:?}")).collect();
    shapes.join(" and ")
}
