//! Positions sorted by the index they hold, stable, and the start of each index's positions.

use crate::{
    Cuda, Result, Tensor,
    kernels::THREADS,
    launch::{Arg, Grid, args, structs::FaultBits},
    memory::Buffer,
};
use binade_gpu::Driver;

/// Bits of a digit that one pass sorts by, and below it the number of digits: the kernels' `DIGITS`.
const BITS: u32 = 8;
const DIGITS: usize = 1 << BITS;

/// Bytes of a fault record.
const FAULT: usize = size_of::<FaultBits>();

/// Positions of the shortest chunk, of which all are multiples, and below it the most chunks: enough to fill any GPU, few enough
/// for one block to add up. The result does not depend on them.
const LEAST_CHUNK: usize = 2048;
const MOST_CHUNKS: usize = 256;

/// Positions of `indices`, sorted by row.
#[derive(Debug)]
pub(super) struct SortedIndices {
    /// Positions, 64 bits each; those of indices out of range are last.
    pub(super) sorted: Buffer,
    /// Start of each row's positions, 64 bits each, and the end of the last row's.
    pub(super) starts: Buffer,
}

/// Treatment of indices out of range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outside {
    /// Left in the fault record, which the next read reports.
    Fault,
    /// Ignored: nobody reads a record of them.
    Skip,
}

impl Cuda {
    /// Sorts the positions of `indices`, and finds each row's.
    pub(super) fn order(
        &self,
        indices: &Tensor,
        rows: usize,
        outside: Outside,
    ) -> Result<SortedIndices> {
        let count = indices.len();
        let sorted = self.sorted(indices, rows, outside)?;
        let starts = self.buffer(size_of::<u64>() * (rows + 1))?;
        let args = args![&sorted, indices, count, rows, &starts];
        let grid = Grid::of((rows + 1).div_ceil(THREADS as usize));
        self.launch("embedding_backward_starts", grid, &args)?;
        Ok(SortedIndices { sorted, starts })
    }

    /// Returns the positions of `indices`, sorted by row, 64 bits each.
    pub(super) fn sorted(&self, indices: &Tensor, rows: usize, outside: Outside) -> Result<Buffer> {
        let [record, launch] = self.fault_args()?;
        let nobodys = if outside == Outside::Skip { Some(self.zeros(FAULT)?) } else { None };
        let record = nobodys.as_ref().map_or(record, Arg::from);
        let count = indices.len();
        let chunk = count.div_ceil(MOST_CHUNKS).next_multiple_of(LEAST_CHUNK).max(LEAST_CHUNK);
        let chunks = count.div_ceil(chunk);
        let counts = self.buffer(size_of::<u32>() * chunks * DIGITS)?;
        let firsts = self.buffer(size_of::<u64>() * chunks * DIGITS)?;
        let mut last: Option<Buffer> = None;
        for shift in digits(rows) {
            let to = self.buffer(size_of::<u64>() * count)?;
            let pass = args![last.as_ref(), indices, count, rows, shift, chunk];
            let more = args![&counts, &firsts, &self.shared_buffers()?.done, record, launch];
            self.launch(
                "embedding_backward_count",
                Grid::of(chunks),
                &[&pass[..], &more].concat(),
            )?;
            let more = args![&firsts, &to];
            self.launch("embedding_backward_move", Grid::of(chunks), &[&pass[..], &more].concat())?;
            last = Some(to);
        }
        last.map_or_else(|| self.buffer(0), Ok)
    }
}

/// Returns the lowest bit of each digit of the numbers from 0 to `largest`: one digit at least, so that every index is checked.
fn digits(largest: usize) -> impl Iterator<Item = u32> {
    let bits = usize::BITS - largest.leading_zeros();
    (0..bits.max(1)).step_by(BITS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_as_many_digits_as_it_takes() {
        let of = |largest| digits(largest).collect::<Vec<_>>();
        assert_eq!([of(0), of(1), of(255)], [[0], [0], [0]]);
        assert_eq!([of(256), of(65_535)], [[0, 8], [0, 8]]);
        assert_eq!(of(65_536), [0, 8, 16]);
        assert_eq!(of(usize::MAX).len(), 8);
    }
}
