//! Look-ups in tables, and their sparse gradients.

use crate::ops::below;
use crate::{Candle, Error, read::read};
use binade_core::ops::{Cat, Embedding, Reshape, SparseEmbedding};
use candle_core::{DType, Error as CandleError, Result as CandleResult, Tensor};

impl Embedding for Candle {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        let (rows, width) = table.dims2()?;
        let indices = below(rows, integers(indices)?, "embedding")?;
        let shape: Vec<_> = indices.dims().iter().copied().chain([width]).collect();
        Ok(table.index_select(&indices.flatten_all()?.contiguous()?, 0)?.reshape(shape)?)
    }

    fn embedding_backward(
        &self,
        grad: &Tensor,
        indices: &Tensor,
        rows: usize,
    ) -> Result<Tensor, Error> {
        let indices = below(rows, integers(indices)?, "embedding")?.flatten_all()?.contiguous()?;
        let width = grad.dims().last().copied().unwrap_or(1);
        let terms = grad.to_dtype(DType::F32)?.reshape((indices.elem_count(), width))?;
        let sums = Tensor::zeros((rows, width), DType::F32, grad.device())?;
        Ok(sums.index_add(&indices, &terms.contiguous()?, 0)?.to_dtype(grad.dtype())?)
    }
}

impl Cat for Candle {
    fn cat(&self, inputs: &[&Tensor], axis: usize) -> Result<Tensor, Error> {
        Ok(Tensor::cat(inputs, axis)?)
    }
}

impl Reshape for Candle {
    fn reshape(&self, input: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
        Ok(input.reshape(shape)?)
    }
}

/// Reads the indices to the host.
impl SparseEmbedding for Candle {
    fn unique_rows(&self, indices: &[&Tensor], rows: usize) -> Result<[Tensor; 2], Error> {
        let mut all = Vec::new();
        for indices in indices {
            all.extend(read::<i64>(integers(indices)?)?);
        }
        let is_there = |row: &&i64| usize::try_from(**row).is_ok_and(|row| row < rows);
        if let Some(row) = all.iter().find(|row| !is_there(row)) {
            let (op, index) = ("embedding", usize::try_from(*row).unwrap_or(usize::MAX));
            return Err(CandleError::InvalidIndex { op, index, size: rows }.into());
        }
        let mut unique = all.clone();
        unique.sort_unstable();
        unique.dedup();
        let place = |row: &i64| unique.partition_point(|other| other < row).cast_signed() as i64;
        let places: Vec<i64> = all.iter().map(place).collect();
        let device = indices.first().map_or(&candle_core::Device::Cpu, |first| first.device());
        let tensor = |of: &[i64]| Tensor::from_slice(of, of.len(), device);
        Ok([tensor(&unique)?, tensor(&places)?])
    }
}

fn integers(indices: &Tensor) -> CandleResult<&Tensor> {
    if indices.dtype() == DType::I64 {
        return Ok(indices);
    }
    let (msg, got) = ("indices are i64", indices.dtype());
    Err(CandleError::UnexpectedDType { msg, expected: DType::I64, got })
}
