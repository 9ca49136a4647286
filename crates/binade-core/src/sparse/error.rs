//! Coordinates and values that do not make a gradient, and what to do.

use crate::{Error, ErrorKind};

/// Coordinates and values that do not make a gradient.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SparseError {
    /// Another number of dimensions than the coordinates have.
    #[error(
        "coordinates in {given} dimensions for a gradient with {dimensions} sparse ones: give one list of indices for \
         each"
    )]
    Dimensions {
        /// Sparse dimensions of the gradient.
        dimensions: usize,
        /// Dimensions of the coordinates.
        given: usize,
    },
    /// Lists of indices of different lengths.
    #[error(
        "dimension {dimension} has {given} indices, and dimension 0 has {entries}: each entry has one in every one"
    )]
    Entries {
        /// Dimension of the list.
        dimension: usize,
        /// Length of the list.
        given: usize,
        /// Length of the first list.
        entries: usize,
    },
    /// An index beyond the end.
    #[error("index {index} in dimension {dimension}, whose size is {size}: indices count from 0")]
    OutOfRange {
        /// Dimension of the index.
        dimension: usize,
        /// Index that was given.
        index: usize,
        /// Size of the dimension.
        size: usize,
    },
    /// Values that cannot be divided among the entries.
    #[error(
        "{values} values for {entries} entries of {width} each: give every entry the elements of one row"
    )]
    Values {
        /// Number of values.
        values: usize,
        /// Number of entries.
        entries: usize,
        /// Elements of one row.
        width: usize,
    },
    /// More elements than can be counted.
    #[error(
        "a gradient of shape {shape:?} with {width} elements a row has more than can be counted: check the shape"
    )]
    TooLarge {
        /// The sparse dimensions.
        shape: Vec<usize>,
        /// Elements of a row.
        width: usize,
    },
}

impl Error for SparseError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Dimensions { .. } | Self::Entries { .. } | Self::Values { .. } => {
                ErrorKind::Mismatch
            }
            Self::OutOfRange { .. } | Self::TooLarge { .. } => ErrorKind::InvalidArgument,
        }
    }
}
