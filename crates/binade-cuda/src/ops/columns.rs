//! Sums over all axes but the last, such as a bias's gradient.

use crate::{
    Cuda, CudaError, Error, Tensor,
    autocast::code,
    kernels::{Kernel, THREADS},
    launch::{
        Arg, Grid,
        Param::{Address, U32, U64},
    },
};
use binade_gpu::Driver;

pub(super) const KERNELS: &[&Kernel] = &[&COLUMNS, &COLUMNS_JOIN];

const COLUMNS: Kernel = Kernel {
    name: "columns",
    module: "columns",
    params: &[Address, U32, Address, U64, U32, U64, U32],
};
const COLUMNS_JOIN: Kernel =
    Kernel { name: "columns_join", module: "columns", params: &[Address, Address, U32, U64, U64] };

/// Columns of a block's tile, as the kernel's `TILE`.
const TILE: usize = 32;

/// Least rows that a block sums, and below it the most chunks of them. They follow from the shape, and so do the sums' bits.
const ROWS: usize = 256;
const MOST_CHUNKS: usize = 64;

/// Limit of columns, and of tiles of all chunks, which are numbered in 32 bits.
const MOST: usize = 1 << 31;

/// Greatest number of blocks of one launch; they stride.
const MOST_BLOCKS: usize = 4096;

impl Cuda {
    /// Returns the sum of each column of `values`, seen as rows of `width`. Sums are f64, rounded once to f32 and to the values'
    /// type.
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
        let narrow = |extent: usize| u32::try_from(extent).ok().filter(|_| extent < MOST);
        let too_large = || {
            Error::Driver(CudaError::TooLarge {
                what: "a sum of columns",
                sizes: vec![rows, width],
            })
        };
        let jobs = width.div_ceil(TILE) * chunks;
        narrow(jobs).ok_or_else(too_large)?;
        let (columns, parts) = (narrow(width), narrow(chunks));
        let (columns, parts) = columns.zip(parts).ok_or_else(too_large)?;
        let blocks = u32::try_from(jobs.clamp(1, MOST_BLOCKS)).unwrap_or(1);
        let (from, to) = (Arg::Address(values.address()), Arg::Address(partials.address()));
        let args = [
            from,
            Arg::U32(code),
            to,
            Arg::U64(rows as u64),
            Arg::U32(columns),
            Arg::U64(chunk as u64),
            Arg::U32(parts),
        ];
        self.launch(&COLUMNS, Grid { blocks, threads: THREADS }, &args)?;
        let result_at = Arg::Address(result.address());
        let sizes = [width, chunks].map(|extent| Arg::U64(extent as u64));
        let args = [&[to, result_at, Arg::U32(code)][..], &sizes].concat();
        // One thread a column, which adds its chunks in order.
        let blocks = width.div_ceil(THREADS as usize).min(MOST_BLOCKS);
        let blocks = u32::try_from(blocks).unwrap_or(1);
        self.launch(&COLUMNS_JOIN, Grid { blocks, threads: THREADS }, &args)?;
        Ok(result)
    }
}
