//! Rows of a table by index.

use super::sorted_indices::Outside;
use crate::{
    Cuda, Result, Tensor,
    kernels::GROUP,
    launch::{Grid, args, code},
};
use binade_gpu::EmbeddingKernels;

/// Number of positions of a row beyond which a block adds them up, and number of columns that it handles together, as in the kernel.
const LONG: usize = 128;
const COLUMNS: usize = 32;

impl EmbeddingKernels for Cuda {
    fn launch_embedding(&self, [table, indices]: [&Tensor; 2], result: &Tensor) -> Result {
        let (rows, width, len) = (table.shape()[0], table.shape()[1], indices.len());
        let dtype = code("embedding", result.dtype())?;
        let [record, launch] = self.fault_args()?;
        let args = args![table, indices, result, dtype, len, rows, width, record, launch];
        // Rows without elements get a group too, so that their index is checked.
        self.launch("embedding", Grid::elementwise(len * padded(width).max(padded(1))), &args)
    }

    fn launch_embedding_backward(&self, operands: [&Tensor; 2], result: &Tensor) -> Result {
        self.add_rows(operands, result, Outside::Fault)
    }
}

impl Cuda {
    /// Sums for each row of `result` the gradients of the indices that name it.
    pub(super) fn add_rows(
        &self,
        [grad, indices]: [&Tensor; 2],
        result: &Tensor,
        outside: Outside,
    ) -> Result {
        let (rows, width, len) = (result.shape()[0], result.shape()[1], indices.len());
        let order = self.order(indices, rows, outside)?;
        let (sorted, starts) = (&order.sorted, &order.starts);
        let dtype = code("embedding", result.dtype())?;
        let args = args![grad, sorted, starts, result, dtype, rows, width];
        self.launch("embedding_backward", Grid::elementwise(rows * padded(width)), &args)?;
        if len <= LONG {
            return Ok(());
        }
        let args = args![grad, indices, sorted, starts, result, dtype, len, rows, width];
        let jobs = len.div_ceil(LONG) * width.div_ceil(COLUMNS);
        self.launch("embedding_backward_long", Grid::of(jobs), &args)
    }
}

/// Returns a row's number of elements, rounded up to whole groups.
fn padded(width: usize) -> usize {
    width.next_multiple_of(GROUP)
}
