//! Rows of a table by index.

use crate::Handle;

/// Look-up of row `i` of a table `[V, D]` for each `i` of an i64 tensor of any shape.
///
/// # For implementers
///
/// * Rows are copied bit for bit.
/// * Backward adds each row of `grad` to the row it came from, in f32 and in the order of the indices, and narrows
///   once: an index that occurs a thousand times loses nothing, and the bits do not depend on the number of threads.
/// * An index outside `0..V` is `InvalidArgument` at the call or when the result is read; a device that cannot report
///   it gives NaN for the row. It never reads beyond the table.
pub trait Embedding: Handle {
    /// Returns the rows, in the shape of `indices` with D appended.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `table` is not a matrix or `indices` are not i64.
    fn embedding(
        &self,
        table: &Self::Tensor,
        indices: &Self::Tensor,
    ) -> Result<Self::Tensor, Self::Error>;

    /// Returns the gradient of a table of `rows` rows.
    ///
    /// # Errors
    ///
    /// `Mismatch` if `grad` has not the shape of the result; `InvalidArgument` for a table larger than any memory.
    fn embedding_backward(
        &self,
        grad: &Self::Tensor,
        indices: &Self::Tensor,
        rows: usize,
    ) -> Result<Self::Tensor, Self::Error>;
}
