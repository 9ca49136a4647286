//! Rows of a table, by index.

use super::operands;
use crate::{Deferred, Error, Tensor, tensor::Like};
use binade_core::Op;
use binade_cpu::Cpu;
use binade_ops::{Embedding, shape};

impl Embedding for Deferred {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::embedding(table.shape(), indices.shape())?;
        let dtype = operands::float(Op::EMBEDDING, &[table])?;
        operands::integers(Op::EMBEDDING, indices)?;
        let like = Like { shape, dtype };
        Ok(self.tensor(&[table, indices], like, |t| Cpu.embedding(t[0], t[1])))
    }

    fn embedding_backward(
        &self,
        grad: &Tensor,
        indices: &Tensor,
        rows: usize,
    ) -> Result<Tensor, Error> {
        let dtype = operands::float(Op::EMBEDDING, &[grad])?;
        let width = grad.shape().last().copied().unwrap_or_default();
        let table = shape::bounded(Op::EMBEDDING, vec![rows, width])?;
        let expected = shape::embedding(&table, indices.shape())?;
        shape::same(Op::EMBEDDING, grad.shape(), &expected)?;
        operands::integers(Op::EMBEDDING, indices)?;
        let like = Like { shape: table, dtype };
        Ok(self.tensor(&[grad, indices], like, move |t| Cpu.embedding_backward(t[0], t[1], rows)))
    }
}
