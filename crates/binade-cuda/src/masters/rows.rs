//! Rows of a parameter and of its state that a sparse gradient updates: they are copied out, stepped as a separate parameter, and written back.

use crate::{Cuda, Result, Tensor, memory::Buffer};
use binade_core::SparseRows;

/// Copies of rows, with the tensors that they are of.
pub(super) struct CopiedRows {
    rows: SparseRows<Tensor>,
    copies: Vec<[Tensor; 2]>,
}

impl CopiedRows {
    pub(super) fn of(rows: &SparseRows<Tensor>) -> Self {
        Self { rows: rows.clone(), copies: Vec::new() }
    }

    /// Copies the rows of a tensor, and returns the address of the copy. A place without a row has zeros.
    pub(super) fn address(&mut self, cuda: &Cuda, tensor: &Tensor) -> Result<u64> {
        let table = tensor.reshape(&self.rows.shape)?;
        let copy = cuda.gather_rows(&table, &self.rows)?;
        let address = copy.address();
        self.copies.push([table, copy]);
        Ok(address)
    }

    /// Puts the rows back, unless `found` is raised.
    pub(super) fn put_back(&self, cuda: &Cuda, found: &Buffer) -> Result {
        let mut each = self.copies.iter();
        each.try_for_each(|[table, copy]| cuda.scatter_rows(copy, &self.rows, Some(found), table))
    }
}
