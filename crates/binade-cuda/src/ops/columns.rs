//! Sums over all axes but the last: what a bias gets.

use crate::{
    Cuda, Error, Tensor,
    autocast::{code, elementwise},
    kernels::{Kernel, THREADS, ptx},
    launch::{
        Arg, Grid,
        Param::{Address, U32, U64},
    },
};

pub(super) const KERNELS: &[&Kernel] = &[&COLUMNS, &COLUMNS_JOIN];

const COLUMNS: Kernel = Kernel {
    name: "columns",
    ptx: ptx!("columns"),
    params: &[Address, U32, Address, U64, U64, U64, U64],
};
const COLUMNS_JOIN: Kernel = Kernel {
    name: "columns_join",
    ptx: ptx!("columns"),
    params: &[Address, Address, U32, U64, U64],
};

/// Columns of a block's tile, as the kernel's `TILE`.
const TILE: usize = 32;

/// Rows that a block sums at least, and the most chunks of them: what follows from the shape, so that sums do as well.
const ROWS: usize = 256;
const MOST_CHUNKS: usize = 64;

/// Blocks of one launch at most; they stride.
const MOST_BLOCKS: usize = 4096;

impl Cuda {
    /// The sum of each column of `values`, as rows of `width`, in f64 and rounded once to f32 and to the values' type.
    pub(super) fn sum_of_columns(&self, values: &Tensor, width: usize) -> Result<Tensor, Error> {
        let code = code("sum", values.dtype())?;
        let result = self.unset(values.dtype(), &[width])?;
        if width == 0 {
            return Ok(result);
        }
        let rows = values.len() / width;
        let chunk = rows.div_ceil(MOST_CHUNKS).max(ROWS);
        let chunks = rows.div_ceil(chunk);
        let partials = self.buffer(chunks * width * size_of::<f64>())?;
        let size = |extent: usize| Arg::U64(extent as u64);
        let blocks = (width.div_ceil(TILE) * chunks).clamp(1, MOST_BLOCKS);
        let grid = Grid { blocks: u32::try_from(blocks).unwrap_or(1), threads: THREADS };
        let (from, to) = (Arg::Address(values.address()), Arg::Address(partials.address()));
        let sizes = [rows, width, chunk, chunks].map(size);
        self.launch(&COLUMNS, grid, &[&[from, Arg::U32(code), to][..], &sizes].concat())?;
        let result_at = Arg::Address(result.address());
        let sizes = [width, chunks].map(size);
        let args = [&[to, result_at, Arg::U32(code)][..], &sizes].concat();
        self.launch(&COLUMNS_JOIN, elementwise(width), &args)?;
        Ok(result)
    }
}
