//! Rows of a table by index.

use crate::{Driver, Result, Tensor};
use binade_core::Op;
use binade_ops::{operands, shape};

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

pub fn embedding<D: EmbeddingKernels>(
    device: &D,
    table: &Tensor<D>,
    indices: &Tensor<D>,
) -> Result<Tensor<D>, D> {
    let shape = shape::embedding(table.shape(), indices.shape())?;
    let dtype = operands::float(Op::EMBEDDING, [table.dtype()])?;
    operands::integers(Op::EMBEDDING, indices.dtype())?;
    device.check_owners(&[table, indices])?;
    let result = device.unset(dtype, &shape)?;
    device.launch_embedding([table, indices], &result)?;
    Ok(result)
}

pub fn embedding_backward<D: EmbeddingKernels>(
    device: &D,
    grad: &Tensor<D>,
    indices: &Tensor<D>,
    rows: usize,
) -> Result<Tensor<D>, D> {
    let dtype = operands::float(Op::EMBEDDING, [grad.dtype()])?;
    let width = grad.shape().last().copied().unwrap_or_default();
    let table = shape::bounded(Op::EMBEDDING, vec![rows, width])?;
    let expected = shape::embedding(&table, indices.shape())?;
    shape::same(Op::EMBEDDING, grad.shape(), &expected)?;
    operands::integers(Op::EMBEDDING, indices.dtype())?;
    device.check_owners(&[grad, indices])?;
    let result = device.unset(dtype, &table)?;
    device.launch_embedding_backward([grad, indices], &result)?;
    Ok(result)
}
