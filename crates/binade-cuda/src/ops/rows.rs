//! Kernels on the rows of the last axis: teams of threads stride over them, a row a team.

use crate::{
    Cuda, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{self, Address, U32, U64},
    },
};
use binade_core::Op;
use binade_gpu::Driver;
use binade_ops::{operands, shape};

/// Parameters: one operand, its element type, the result, rows and their width.
pub(super) const ROWS: &[Param] = &[Address, U32, Address, U64, U64];

/// Parameters of a kernel of two operands.
pub(super) const ROWS2: &[Param] = &[Address, Address, U32, Address, U64, U64];

/// Width beyond which a block takes a row, and up to which a warp does: `rows.cuh`'s `WARP_ROW`.
const WARP_ROW: usize = 1024;

/// Threads of a warp.
const WARP: usize = 32;

/// Number of blocks beyond which a grid strides: enough to fill any GPU several times over.
pub(super) const MOST_BLOCKS: usize = 4096;

/// Tensor as the rows of its last axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) width: usize,
}

impl Rows {
    /// Describes a tensor; a scalar is one row of one element.
    pub(super) fn of(tensor: &Tensor) -> Self {
        let (width, lead) =
            tensor.shape().split_last().map_or((1, &[][..]), |(w, lead)| (*w, lead));
        Self { count: lead.iter().product(), width }
    }

    /// Returns a grid with a team for each row.
    pub(super) fn grid(self) -> Grid {
        blocks(self.count.div_ceil(self.teams()))
    }

    /// Returns the number of rows that a block takes at a time.
    fn teams(self) -> usize {
        if self.width > WARP_ROW { 1 } else { THREADS as usize / WARP }
    }

    /// Returns the number of rows of a chunk. There are no more chunks than blocks to leave a sum. It follows from the shape
    /// alone.
    pub(super) fn chunk(self) -> usize {
        self.count.div_ceil(MOST_BLOCKS).next_multiple_of(self.teams()).max(self.teams())
    }
}

/// Returns a grid of `wanted` blocks, at least one and at most `MOST_BLOCKS`.
pub(super) fn blocks(wanted: usize) -> Grid {
    let blocks = u32::try_from(wanted.clamp(1, MOST_BLOCKS)).unwrap_or(1);
    Grid { blocks, threads: THREADS }
}

impl Cuda {
    /// Applies `kernel` to each row of operands of one shape. The result has that shape and their element type.
    pub(super) fn by_row(
        &self,
        kernel: &'static Kernel,
        op: Op,
        operands: &[&Tensor],
    ) -> Result<Tensor, Error> {
        let shape = operands.first().map_or(&[][..], |operand| operand.shape());
        shape::softmax(op, shape)?;
        let dtype = operands::float(op, operands)?;
        self.has_made_all(operands)?;
        let result = self.unset(dtype, shape)?;
        if result.is_empty() {
            return Ok(result);
        }
        let rows = Rows::of(&result);
        let mut args: Vec<Arg<'_>> =
            operands.iter().map(|operand| Arg::Address(operand.address())).collect();
        args.extend([
            Arg::U32(code(kernel.name, dtype)?),
            Arg::Address(result.address()),
            Arg::U64(rows.count as u64),
            Arg::U64(rows.width as u64),
        ]);
        self.launch(kernel, rows.grid(), &args)?;
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_many_as_blocks_at_most_and_every_team_has_a_row() {
        let of = |count, width| Rows { count, width }.chunk();
        assert_eq!([of(0, 10), of(1, 10), of(8 * 4096, 1024)], [8; 3]);
        assert_eq!([of(8 * 4096 + 1, 10), of(1 << 20, 10)], [16, 256]);
        assert_eq!(
            [of(0, 1025), of(4096, 1025), of(4097, 1025), of(1 << 20, 50_000)],
            [1, 1, 2, 256]
        );
    }
}
