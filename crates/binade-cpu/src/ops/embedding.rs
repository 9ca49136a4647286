//! Rows of a table by index.

use super::operands;
use crate::{Cpu, Error, Stored, Tensor};
use binade_core::{DType, Op};
use binade_ops::{Embedding, shape};
use half::{bf16, f16};

impl Embedding for Cpu {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        let shape = shape::embedding(table.shape(), indices.shape())?;
        let dtype = operands::float(Op::EMBEDDING, [table.dtype()])?;
        let rows = operands::indices(Op::EMBEDDING, indices, table.shape()[0])?;
        match dtype {
            DType::BF16 => gather::<bf16>(table, &rows, &shape),
            DType::F16 => gather::<f16>(table, &rows, &shape),
            _ => gather::<f32>(table, &rows, &shape),
        }
    }

    fn embedding_backward(
        &self,
        grad: &Tensor,
        indices: &Tensor,
        rows: usize,
    ) -> Result<Tensor, Error> {
        let dtype = operands::float(Op::EMBEDDING, [grad.dtype()])?;
        let width = grad.shape().last().copied().unwrap_or_default();
        let table = shape::bounded(Op::EMBEDDING, vec![rows, width])?;
        let expected = shape::embedding(&table, indices.shape())?;
        shape::same(Op::EMBEDDING, grad.shape(), &expected)?;
        let targets = operands::indices(Op::EMBEDDING, indices, rows)?;
        let mut sums = vec![0.0; rows * width];
        let g = grad.to_f32();
        for (i, row) in targets.into_iter().enumerate() {
            let from = &g[i * width..(i + 1) * width];
            let to = &mut sums[row * width..(row + 1) * width];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
        Tensor::from_f32(sums, &table, dtype)
    }
}

/// Copies `rows` of `table`, whose elements are `E`.
fn gather<E: Stored>(table: &Tensor, rows: &[usize], shape: &[usize]) -> Result<Tensor, Error> {
    let (elements, width) = (table.as_slice::<E>().unwrap_or_default(), table.shape()[1]);
    let copies = rows.iter().flat_map(|row| &elements[row * width..(row + 1) * width]);
    Tensor::new(copies.copied().collect(), shape)
}
