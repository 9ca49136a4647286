//! Grids whose blocks stride over the rows of a matrix.

use crate::{Tensor, kernels::THREADS, launch::Grid};

/// Rows that are wider go to a block each, others to a warp: `rows.cuh`'s `WARP_ROW`.
const WARP_ROW: usize = 1024;

/// Threads of a warp.
const WARP: usize = 32;

/// Blocks beyond which a grid strides: enough to fill any GPU several times over.
const MOST_BLOCKS: usize = 4096;

/// A tensor as the rows of its last axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) count: usize,
    pub(super) width: usize,
}

impl Rows {
    /// Of a tensor that is no scalar.
    pub(super) fn of(tensor: &Tensor) -> Self {
        let (width, lead) =
            tensor.shape().split_last().map_or((1, &[][..]), |(w, lead)| (*w, lead));
        Self { count: lead.iter().product(), width }
    }

    /// A team for each row.
    pub(super) fn grid(self) -> Grid {
        let teams = if self.width > WARP_ROW { 1 } else { THREADS as usize / WARP };
        blocks(self.count.div_ceil(teams))
    }
}

/// So many blocks, at least one, or fewer that stride.
pub(super) fn blocks(wanted: usize) -> Grid {
    let blocks = u32::try_from(wanted.clamp(1, MOST_BLOCKS)).unwrap_or(1);
    Grid { blocks, threads: THREADS }
}
