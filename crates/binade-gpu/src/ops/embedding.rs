//! Rows of a table by index.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with kernels of an embedding. The device records an index outside the table.
pub trait EmbeddingKernels: Driver {
    /// Copies, for each index in the second operand, the row of the first operand, the table.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_embedding(
        &self,
        operands: [&Tensor<Self>; 2],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Computes `result`, the table's gradient: each row is the sum of the gradients of its indices, in their order. The operands are gradient and
    /// indices.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails.
    fn launch_embedding_backward(
        &self,
        operands: [&Tensor<Self>; 2],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;
}

impl<D: EmbeddingKernels> binade_core::ops::Embedding for Gpu<'_, D> {
    fn embedding(&self, table: &Tensor<D>, indices: &Tensor<D>) -> Result<Tensor<D>, D> {
        let call = OpInvocation::Embedding;
        let TensorSpec { dtype, shape } = check(self.0, &call, &[table, indices])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_embedding([table, indices], &result)?;
        Ok(result)
    }

    fn embedding_backward(
        &self,
        grad: &Tensor<D>,
        indices: &Tensor<D>,
        rows: usize,
    ) -> Result<Tensor<D>, D> {
        let call = OpInvocation::EmbeddingBackward { rows };
        let TensorSpec { dtype, shape } = check(self.0, &call, &[grad, indices])?;
        let result = self.0.unset(dtype, &shape)?;
        self.0.launch_embedding_backward([grad, indices], &result)?;
        Ok(result)
    }
}
