//! Sparse gradients: coordinates that may repeat, summed in `f32` before anything is looked at.

use crate::{Element, Error, ErrorKind};
use std::mem;

/// Gradient as coordinates and rows of values, as an embedding's backward gives it. Coordinates may repeat, and mean
/// the sum of their rows.
///
/// An overflow may come into being where rows are added: 64000 + 64000 is finite in neither row and infinite in f16. So
/// repeated coordinates are added here, before a device checks the sum like any other gradient.
///
/// # Examples
///
/// ```
/// use binade_core::SparseGrad;
///
/// // Two values a row, for rows 2, 0 and 2 again of an embedding of four.
/// let rows = SparseGrad::new(&[4], 2, &[&[2, 0, 2]], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(rows.dense(), [3.0, 4.0, 0.0, 0.0, 6.0, 8.0, 0.0, 0.0]);
/// # Ok::<(), binade_core::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseGrad<E> {
    /// Number of coordinates: the product of the sparse dimensions' sizes.
    rows: usize,
    /// Elements of one row.
    width: usize,
    /// Positions of the rows, counted as a dense tensor stores them.
    at: Vec<usize>,
    values: Vec<E>,
}

impl<E: Element> SparseGrad<E> {
    /// Creates a gradient from coordinates as COO tensors keep them: `indices[d][i]` is entry `i`'s index in dimension `d` of
    /// `shape`, and `values` has one row after the other, of `width` elements: 1, or the product of the dimensions that are
    /// dense and so not in `shape`.
    ///
    /// # Errors
    ///
    /// [`SparseError`], for lists that do not match or an index out of range.
    pub fn new(
        shape: &[usize],
        width: usize,
        indices: &[&[usize]],
        values: Vec<E>,
    ) -> Result<Self, SparseError> {
        let at = positions(shape, indices)?;
        let rows = count(shape).filter(|rows| rows.checked_mul(width).is_some());
        let rows = rows.ok_or_else(|| {
            SparseError::invalid(format!(
                "a gradient of shape {shape:?} with {width} elements a row has more than can be counted: check the shape"
            ))
        })?;
        if at.len().checked_mul(width) != Some(values.len()) {
            return Err(SparseError::mismatch(format!(
                "{} values for {} entries of {width} each: give every entry the elements of one row",
                values.len(),
                at.len()
            )));
        }
        Ok(Self { rows, width, at, values })
    }

    /// Returns the whole gradient, zeros included. Rows of one coordinate are added in `f32` in the order given: nothing
    /// overflows that fits `f32`, and no infinity or NaN is lost.
    pub fn dense(&self) -> Vec<f32> {
        let mut dense = vec![0.0; self.rows * self.width];
        let mut is_written = vec![false; self.rows];
        for (entry, &at) in self.at.iter().enumerate() {
            let row = self.values[entry * self.width..].iter().map(|x| x.to_f32());
            let sums = &mut dense[at * self.width..][..self.width];
            let is_more = mem::replace(&mut is_written[at], true);
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum = if is_more { *sum + x } else { x });
        }
        dense
    }

    /// Returns the whole gradient, each sum rounded once to the values' own type, as torch coalesces: in f16 duplicates that add
    /// up to more than it holds become an infinity, which the check then finds.
    pub fn dense_in_own_type(&self) -> Vec<f32> {
        self.dense().into_iter().map(|sum| E::from_f32(sum).to_f32()).collect()
    }
}

/// Number of rows that `shape` has.
fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |rows, &size| rows.checked_mul(size))
}

/// Positions of the entries, counted by rows: the last dimension runs fastest.
fn positions(shape: &[usize], indices: &[&[usize]]) -> Result<Vec<usize>, SparseError> {
    let (Some(first), true) = (indices.first(), shape.len() == indices.len()) else {
        return Err(SparseError::mismatch(format!(
            "coordinates in {} dimensions for a gradient with {} sparse ones: give one list of indices for each",
            indices.len(),
            shape.len()
        )));
    };
    let (entries, mut at) = (first.len(), vec![0_usize; first.len()]);
    for (dimension, (&size, list)) in shape.iter().zip(indices).enumerate() {
        if list.len() != entries {
            return Err(SparseError::mismatch(format!(
                "dimension {dimension} has {} indices, and dimension 0 has {entries}: each entry has one in every one",
                list.len()
            )));
        }
        for (at, &index) in at.iter_mut().zip(*list) {
            if index >= size {
                return Err(SparseError::invalid(format!(
                    "index {index} in dimension {dimension}, whose size is {size}: indices count from 0"
                )));
            }
            // Within the number of rows, and where that is beyond counting the whole is refused.
            *at = at.wrapping_mul(size).wrapping_add(index);
        }
    }
    Ok(at)
}

/// Error of coordinates and values that do not make a gradient: of another number than the others, or out of range.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{text}")]
pub struct SparseError {
    kind: ErrorKind,
    text: String,
}

impl SparseError {
    fn mismatch(text: String) -> Self {
        Self { kind: ErrorKind::Mismatch, text }
    }

    fn invalid(text: String) -> Self {
        Self { kind: ErrorKind::InvalidArgument, text }
    }
}

impl Error for SparseError {
    fn kind(&self) -> ErrorKind {
        self.kind
    }
}
