//! Rows of a table by index.

use super::check;
use crate::{Driver, Gpu, Result, Tensor};
use binade_core::TensorSpec;
use binade_core::ops::OpInvocation;

/// Driver with kernels of an embedding. An index that names no row is noted on the device.
pub trait EmbeddingKernels: Driver {
    /// Copies the row of the first operand, the table, that each index of the second names.
    ///
    /// # Errors
    ///
    /// Where the device fails.
    fn launch_embedding(
        &self,
        operands: [&Tensor<Self>; 2],
        result: &Tensor<Self>,
    ) -> Result<(), Self>;

    /// Sums for each row of `result`, the table's gradient, the gradients of the indices that name it, in their order. Operands are
    /// gradient and indices.
    ///
    /// # Errors
    ///
    /// Where the device fails.
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
