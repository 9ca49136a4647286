//! Kernels on the rows of the last axis: teams of threads stride over them, a row a team.

use crate::{
    Cuda, Result, Tensor,
    autocast::code,
    kernels::THREADS,
    launch::{Arg, Grid, args},
};
use binade_gpu::{RowKernels, Rows};

/// Width beyond which a block takes a row, and up to which a warp does: `rows.cuh`'s `WARP_ROW`.
const WARP_ROW: usize = 1024;

/// Threads of a warp.
const WARP: usize = 32;

/// Number of blocks beyond which a grid strides: enough to fill any GPU several times over.
pub(super) const MOST_BLOCKS: usize = 4096;

/// Returns a grid with a team for each row.
pub(super) fn grid(rows: Rows) -> Grid {
    blocks(rows.count.div_ceil(teams(rows)))
}

/// Returns the number of rows that a block takes at a time.
fn teams(rows: Rows) -> usize {
    if rows.width > WARP_ROW { 1 } else { THREADS as usize / WARP }
}

/// Returns the number of rows of a chunk. There are no more chunks than blocks to leave a sum. It follows from the shape alone.
pub(super) fn chunk(rows: Rows) -> usize {
    rows.count.div_ceil(MOST_BLOCKS).next_multiple_of(teams(rows)).max(teams(rows))
}

/// Returns a grid of `wanted` blocks, at least one and at most `MOST_BLOCKS`.
pub(super) fn blocks(wanted: usize) -> Grid {
    let blocks = u32::try_from(wanted.clamp(1, MOST_BLOCKS)).unwrap_or(1);
    Grid { blocks, threads: THREADS }
}

impl RowKernels for Cuda {
    fn launch_rows(&self, kernel: &'static str, operands: &[&Tensor], result: &Tensor) -> Result {
        let (dtype, rows) = (code(kernel, result.dtype())?, Rows::of(result));
        let operands = operands.iter().map(|operand| Arg::from(*operand));
        let args: Vec<_> = operands.chain(args![dtype, result, rows.count, rows.width]).collect();
        self.launch(kernel, grid(rows), &args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_as_many_as_blocks_at_most_and_every_team_has_a_row() {
        let of = |count, width| chunk(Rows { count, width });
        assert_eq!([of(0, 10), of(1, 10), of(8 * 4096, 1024)], [8; 3]);
        assert_eq!([of(8 * 4096 + 1, 10), of(1 << 20, 10)], [16, 256]);
        assert_eq!(
            [of(0, 1025), of(4096, 1025), of(4097, 1025), of(1 << 20, 50_000)],
            [1, 1, 2, 256]
        );
    }
}
