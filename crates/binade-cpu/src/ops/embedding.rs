//! Rows of a table by index.

use super::operands::{self, check};
use crate::{Cpu, Error, Stored, Tensor};
use binade_core::ops::{Embedding, OpInvocation, SparseEmbedding};
use binade_core::{DType, Op, TensorSpec};
use binade_master_weights::gathered;
use half::{bf16, f16};

impl Embedding for Cpu {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        let TensorSpec { dtype, shape } = check(&OpInvocation::Embedding, &[table, indices])?;
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
        let call = OpInvocation::EmbeddingBackward { rows };
        let TensorSpec { dtype, shape } = check(&call, &[grad, indices])?;
        let width = shape[1];
        let targets = operands::indices(Op::EMBEDDING, indices, rows)?;
        let mut sums = vec![0.0; rows * width];
        let g = grad.to_f32();
        for (i, row) in targets.into_iter().enumerate() {
            let from = &g[i * width..(i + 1) * width];
            let to = &mut sums[row * width..(row + 1) * width];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
        Tensor::from_f32(sums, &shape, dtype)
    }
}

impl SparseEmbedding for Cpu {
    fn unique_rows(&self, indices: &[&Tensor], rows: usize) -> Result<[Tensor; 2], Error> {
        let mut all = Vec::new();
        for tensor in indices {
            operands::indices(Op::EMBEDDING, tensor, rows)?;
            all.extend_from_slice(tensor.as_slice::<i64>().unwrap_or_default());
        }
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        for index in &mut all {
            let place = unique.partition_point(|other| *other < *index);
            *index = i64::try_from(place).unwrap_or(i64::MAX);
        }
        let [unique_count, count] = [unique.len(), all.len()];
        Ok([Tensor::new(unique, &[unique_count])?, Tensor::new(all, &[count])?])
    }
}

/// Copies `rows` of `table`, whose elements are `E`.
fn gather<E: Stored>(table: &Tensor, rows: &[usize], shape: &[usize]) -> Result<Tensor, Error> {
    let (elements, width) = (table.as_slice::<E>().unwrap_or_default(), table.shape()[1]);
    Tensor::new(gathered(elements, rows, width), shape)
}
