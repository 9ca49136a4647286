//! Rows of a table, by index.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::{GROUP, Kernel, THREADS, ptx},
    launch::{
        Arg, Grid,
        Param::{self, Address, U32, U64},
    },
};
use binade_core::{DType, Op};
use binade_ops::{Embedding, operands, shape};

pub(super) const KERNELS: &[&Kernel] = &[&EMBEDDING, &EMBEDDING_BACKWARD];

const EMBEDDING: Kernel = Kernel { name: "embedding", ptx: ptx!("embedding"), params: PARAMS };
const EMBEDDING_BACKWARD: Kernel =
    Kernel { name: "embedding_backward", ptx: ptx!("embedding"), params: PARAMS };

/// What is read, indices, the result; its type; indices, rows, elements of a row; the record of bad indices.
const PARAMS: &[Param] = &[Address, Address, Address, U32, U64, U64, U64, Address, U32];

/// Rows and columns of a tile of the table's gradient, as in the kernel.
const TILE: [usize; 2] = [32, 256];

impl Embedding for Cuda {
    fn embedding(&self, table: &Tensor, indices: &Tensor) -> Result<Tensor, Error> {
        self.has_made_all(&[table, indices])?;
        let shape = shape::embedding(table.shape(), indices.shape())?;
        let dtype = operands::float(Op::EMBEDDING, &[table])?;
        operands::integers(Op::EMBEDDING, indices)?;
        let of = Table { dtype, rows: table.shape()[0], width: table.shape()[1] };
        let result = self.unset(dtype, &shape)?;
        let group = usize::try_from(GROUP).unwrap_or(1);
        let elements = indices.len() * of.width.next_multiple_of(group).max(group);
        self.look_up(&EMBEDDING, elementwise(elements), [table, indices, &result], of)?;
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
        let expected = shape::embedding(&[rows, width], indices.shape())?;
        shape::same(Op::EMBEDDING, grad.shape(), &expected)?;
        operands::integers(Op::EMBEDDING, indices)?;
        let of = Table { dtype, rows, width };
        let result = self.unset(dtype, &[rows, width])?;
        self.look_up(&EMBEDDING_BACKWARD, of.tiles(), [grad, indices, &result], of)?;
        Ok(result)
    }
}

/// A table, or its gradient.
#[derive(Clone, Copy)]
struct Table {
    dtype: DType,
    rows: usize,
    width: usize,
}

impl Table {
    /// A block for each tile, as far as a grid is worth its size; one where there is none, to look at the indices.
    fn tiles(self) -> Grid {
        let tiles = self.rows.div_ceil(TILE[0]).saturating_mul(self.width.div_ceil(TILE[1]));
        let blocks = u32::try_from(tiles.clamp(1, MOST_TILES)).unwrap_or(1);
        Grid { blocks, threads: THREADS }
    }
}

/// Blocks beyond which a grid strides.
const MOST_TILES: usize = 1 << 16;

impl Cuda {
    fn look_up(
        &self,
        kernel: &'static Kernel,
        grid: Grid,
        [from, indices, to]: [&Tensor; 3],
        of: Table,
    ) -> Result<(), Error> {
        let [record, launch] = self.fault_args()?;
        let args = [
            Arg::Address(from.address()),
            Arg::Address(indices.address()),
            Arg::Address(to.address()),
            Arg::U32(code(kernel.name, of.dtype)?),
            Arg::U64(indices.len() as u64),
            Arg::U64(of.rows as u64),
            Arg::U64(of.width as u64),
            record,
            launch,
        ];
        self.launch(kernel, grid, &args)
    }
}
