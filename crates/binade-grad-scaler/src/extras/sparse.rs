//! Sparse gradients: coordinates that may repeat, summed in `f32` before anything is looked at.

mod error;

pub use error::SparseError;

use crate::ScaleState;
use binade_core::{Element, Finding};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A gradient as coordinates and rows of values, as an embedding's backward gives it. Coordinates may repeat, and mean
/// the sum of their rows.
///
/// An overflow may come into being where rows are added: 64000 + 64000 is finite in neither row and infinite in f16. So
/// repeated coordinates are added before the check, in [`coalesced`](Self::coalesced) or [`dense`](Self::dense).
///
/// ```
/// use binade_core::{AmpTensor, DType, Named, Native};
/// use binade_grad_scaler::{LossScale, Scaler, SparseGrad};
/// # #[derive(Clone)]
/// # struct Mine(Vec<f32>);
/// # impl AmpTensor for Mine {
/// #     type Error = std::convert::Infallible;
/// #     fn dtype(&self) -> DType { DType::F32 }
/// #     fn cast(&self, _to: DType) -> Result<Self, Self::Error> { Ok(self.clone()) }
/// #     fn map_f32(&mut self, f: &mut dyn FnMut(usize, f32) -> f32) {
/// #         self.0.iter_mut().enumerate().for_each(|(i, x)| *x = f(i, *x));
/// #     }
/// # }
///
/// // Two values a row, for rows 2, 0 and 2 again of an embedding of four: `Mine` is a tensor of one's own.
/// let rows = SparseGrad::new(&[4], 2, &[&[2, 0, 2]], vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let gradient = Named::new("embedding", Some(Mine(rows.dense())));
/// assert_eq!(rows.dense(), [3.0, 4.0, 0.0, 0.0, 6.0, 8.0, 0.0, 0.0]);
/// # let scaler = Scaler::new(Native::<Mine>::new(), LossScale::dynamic()).unwrap();
/// # let grads = scaler.scale(&Mine(vec![1.0])).unwrap().backward(|_| Ok(vec![gradient])).unwrap();
/// # grads.unscale().unwrap();
/// # Ok::<(), binade_grad_scaler::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseGrad<E> {
    /// How many coordinates there are: the product of the sparse dimensions' sizes.
    rows: usize,
    /// Elements of one row.
    width: usize,
    /// The rows' positions, counted as a dense tensor stores them.
    at: Vec<usize>,
    values: Vec<E>,
}

impl<E: Element> SparseGrad<E> {
    /// From coordinates as COO tensors keep them: `indices[d][i]` is entry `i`'s index in dimension `d` of `shape`, and
    /// `values` has one row after the other, of `width` elements: 1, or the product of the dimensions that are dense and so
    /// not in `shape`.
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
        let rows = rows.ok_or_else(|| SparseError::TooLarge { shape: shape.to_vec(), width })?;
        if at.len().checked_mul(width) != Some(values.len()) {
            return Err(SparseError::Values { values: values.len(), entries: at.len(), width });
        }
        Ok(Self { rows, width, at, values })
    }

    /// Rows in the order given, as positions in the dense tensor counted by rows.
    pub fn positions(&self) -> &[usize] {
        &self.at
    }

    /// Their elements, one row after the other.
    pub fn values(&self) -> &[E] {
        &self.values
    }

    /// Every coordinate once, in order, and its rows added in `f32` in the order given: nothing overflows that fits `f32`,
    /// and no infinity or NaN is lost.
    pub fn coalesced(&self) -> SparseGrad<f32> {
        let mut sums: BTreeMap<usize, Vec<f32>> = BTreeMap::new();
        for (entry, &at) in self.at.iter().enumerate() {
            let row = self.values[entry * self.width..].iter().take(self.width);
            let row = row.map(|x| x.to_f32());
            match sums.get_mut(&at) {
                Some(sum) => sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += x),
                None => drop(sums.insert(at, row.collect())),
            }
        }
        let (at, rows): (_, Vec<_>) = sums.into_iter().unzip();
        SparseGrad { rows: self.rows, width: self.width, at, values: rows.concat() }
    }

    /// The same, with each sum rounded once to the values' own type, as torch coalesces: in f16 duplicates that add up to
    /// more than it holds become an infinity, which the check then finds.
    #[must_use]
    pub fn coalesced_in_own_type(&self) -> Self {
        let SparseGrad { rows, width, at, values } = self.coalesced();
        let values = values.into_iter().map(E::from_f32).collect();
        Self { rows, width, at, values }
    }

    /// The whole gradient in `f32`, zeros included: what a dense tensor of one's own is made of.
    pub fn dense(&self) -> Vec<f32> {
        let mut dense = vec![0.0; self.rows * self.width];
        let SparseGrad { at, values, .. } = self.coalesced();
        for (entry, at) in at.into_iter().enumerate() {
            let row = &values[entry * self.width..][..self.width];
            dense[at * self.width..][..self.width].copy_from_slice(row);
        }
        dense
    }

    /// Coalesces, looks at every value as it is and once divided by `scale`, and divides, in `f32`: what
    /// [`GradScaler::unscale`](crate::GradScaler::unscale) does, for devices of one's own whose sets keep a gradient sparse;
    /// [`join_findings`](crate::join_findings) joins it to the rest. An overflow's index is counted as the dense tensor
    /// stores it.
    pub fn unscaled(&self, name: &Arc<str>, scale: &ScaleState) -> (SparseGrad<f32>, Finding) {
        let mut found = Finding { halted: scale.diverged, ..Finding::default() };
        let (mut grad, inverse) = (self.coalesced(), scale.inverse());
        for (element, x) in grad.values.iter_mut().enumerate() {
            let at = grad.at[element / grad.width] * grad.width + element % grad.width;
            let scaled = std::mem::replace(x, *x * inverse);
            found.check(name, at as u64, scaled, *x);
        }
        (grad, found)
    }
}

/// How many rows `shape` has.
fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1_usize, |rows, &size| rows.checked_mul(size))
}

/// Each entry's position, counted by rows: the last dimension runs fastest.
fn positions(shape: &[usize], indices: &[&[usize]]) -> Result<Vec<usize>, SparseError> {
    let (Some(first), true) = (indices.first(), shape.len() == indices.len()) else {
        let (dimensions, given) = (shape.len(), indices.len());
        return Err(SparseError::Dimensions { dimensions, given });
    };
    let (entries, mut at) = (first.len(), vec![0_usize; first.len()]);
    for (dimension, (&size, list)) in shape.iter().zip(indices).enumerate() {
        if list.len() != entries {
            return Err(SparseError::Entries { dimension, given: list.len(), entries });
        }
        for (at, &index) in at.iter_mut().zip(*list) {
            if index >= size {
                return Err(SparseError::OutOfRange { dimension, index, size });
            }
            // Within the number of rows, and where that is beyond counting the whole is refused.
            *at = at.wrapping_mul(size).wrapping_add(index);
        }
    }
    Ok(at)
}
