//! Gradients of a table as rows.

use crate::ops::{Cat, Embedding, Reshape, Shaped};
use crate::{SparseGradient, SparseRows};

/// Gradient of an [`Embedding`]'s table as the rows that were looked up (torch's `sparse=True`).
///
/// Time and memory grow with the number of indices. The table's size does not matter.
///
/// # For implementers
///
/// * `unique_rows` returns each row that `indices` name once, in ascending order. There may be places without a row among them, which
///   have the index -1: a device need not know how many rows there are.
/// * An index outside `0..rows` is `InvalidArgument` at the call or when a result is read. The device never reads beyond the table.
pub trait SparseEmbedding: Embedding + Shaped + Cat + Reshape {
    /// Returns the rows of a table of `rows` rows that i64 `indices` name, one tensor behind the other, and the place of each index's row
    /// among them. Both are i64 vectors.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `indices` are not i64.
    fn unique_rows(
        &self,
        indices: &[&Self::Tensor],
        rows: usize,
    ) -> Result<[Self::Tensor; 2], Self::Error>;

    /// Returns the gradient of a table of `rows` rows from the gradients of its look-ups, of one element type, each with its indices.
    ///
    /// Gradients of one row are added as [`embedding_backward`](Embedding::embedding_backward) adds them, so that the elements have the
    /// same bits.
    ///
    /// # Errors
    ///
    /// `Mismatch` if a gradient has not as many elements as the result of its look-up, and without a look-up.
    fn sparse_embedding_backward(
        &self,
        lookups: &[(&Self::Tensor, &Self::Tensor)],
        rows: usize,
    ) -> Result<SparseGradient<Self::Tensor>, Self::Error> {
        let (mut grads, mut indices) = (Vec::new(), Vec::new());
        for (grad, index) in lookups {
            let width = self.shape(grad).last().copied().unwrap_or(1);
            grads.push(self.reshape(grad, &[self.element_count(index), width])?);
            indices.push(*index);
        }
        let [indices, places] = self.unique_rows(&indices, rows)?;
        let grads = match &grads[..] {
            [grad] => grad,
            several => &self.cat(&several.iter().collect::<Vec<_>>(), 0)?,
        };
        let values = self.embedding_backward(grads, &places, self.element_count(&indices))?;
        let mut shape = self.shape(&values);
        shape[0] = rows;
        Ok(SparseGradient { values, rows: SparseRows { indices, shape } })
    }
}
