//! Rows of a table by index.

use super::rows::blocks;
use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::{GROUP, Kernel},
    launch::{
        Arg,
        Param::{Address, U32, U64},
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{Embedding, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&EMBEDDING, &EMBEDDING_BACKWARD, &EMBEDDING_BACKWARD_LONG];

const EMBEDDING: Kernel = Kernel {
    name: "embedding",
    module: "embedding",
    params: &[Address, Address, Address, U32, U64, U64, U64, Address, U32],
};
const EMBEDDING_BACKWARD: Kernel = Kernel {
    name: "embedding_backward",
    module: "embedding",
    params: &[Address, Address, Address, Address, U32, U64, U64],
};
const EMBEDDING_BACKWARD_LONG: Kernel = Kernel {
    name: "embedding_backward_long",
    module: "embedding",
    params: &[Address, Address, Address, Address, Address, U32, U64, U64, U64],
};

/// Number of positions of a row beyond which a block adds them up, and below it the columns that it does together, as in the
/// kernel.
const LONG: usize = 128;
const COLUMNS: usize = 32;

impl Embedding for Cuda {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        self.has_made_all(&[table, indices])?;
        let shape = shape::embedding(table.shape(), indices.shape())?;
        let dtype = operands::float(Op::EMBEDDING, &[table])?;
        operands::integers(Op::EMBEDDING, indices)?;
        let (rows, width) = (table.shape()[0], table.shape()[1]);
        let result = self.unset(dtype, &shape)?;
        let [record, launch] = self.fault_args()?;
        let args = [
            Arg::Address(table.address()),
            Arg::Address(indices.address()),
            Arg::Address(result.address()),
            Arg::U32(code("embedding", dtype)?),
            Arg::U64(indices.len() as u64),
            Arg::U64(rows as u64),
            Arg::U64(width as u64),
            record,
            launch,
        ];
        // Rows of no elements have a group too, so that their index is checked.
        self.launch(&EMBEDDING, elementwise(indices.len() * padded(width).max(padded(1))), &args)?;
        Ok(result)
    }

    fn embedding_backward(
        &self,
        grad: &Tensor,
        indices: &Tensor,
        rows: usize,
    ) -> Result<Tensor, Error> {
        self.has_made_all(&[grad, indices])?;
        let dtype = operands::float(Op::EMBEDDING, &[grad])?;
        let width = grad.shape().last().copied().unwrap_or_default();
        let table = shape::bounded(Op::EMBEDDING, vec![rows, width])?;
        let expected = shape::embedding(&table, indices.shape())?;
        shape::same(Op::EMBEDDING, grad.shape(), &expected)?;
        operands::integers(Op::EMBEDDING, indices)?;
        let result = self.unset(dtype, &table)?;
        let order = self.order(indices, rows)?;
        let [grad, sorted, starts, to] =
            [grad.address(), order.sorted.address(), order.starts.address(), result.address()]
                .map(Arg::Address);
        let dtype = Arg::U32(code("embedding", dtype)?);
        let [count, down, across] =
            [indices.len(), rows, width].map(|extent| Arg::U64(extent as u64));
        let args = [grad, sorted, starts, to, dtype, down, across];
        self.launch(&EMBEDDING_BACKWARD, elementwise(rows * padded(width)), &args)?;
        if indices.len() > LONG {
            let indices_at = Arg::Address(indices.address());
            let args = [grad, indices_at, sorted, starts, to, dtype, count, down, across];
            let jobs = indices.len().div_ceil(LONG) * width.div_ceil(COLUMNS);
            self.launch(&EMBEDDING_BACKWARD_LONG, blocks(jobs), &args)?;
        }
        Ok(result)
    }
}

/// Returns a row's number of elements, rounded up to whole groups.
fn padded(width: usize) -> usize {
    width.next_multiple_of(GROUP)
}
