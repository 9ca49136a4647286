//! Positions sorted by the index they hold, stable, and the start of each index's positions.

use super::rows::blocks;
use crate::{
    Cuda, Error, Tensor,
    kernels::{Kernel, THREADS},
    launch::{
        Arg,
        Param::{Address, U32, U64},
    },
    memory::Buffer,
};
use binade_gpu::Driver;

pub(super) const KERNELS: &[&Kernel] = &[&COUNT, &MOVE, &STARTS];

const MODULE: &str = "embedding";

/// Parameters: the last pass's positions, indices; their count, rows, the digit's place, a chunk's length; counts, their prefix
/// sums, the counter of blocks; the record of bad indices.
const COUNT: Kernel = Kernel {
    name: "embedding_backward_count",
    module: MODULE,
    params: &[Address, Address, U64, U64, U32, U64, Address, Address, Address, Address, U32],
};
const MOVE: Kernel = Kernel {
    name: "embedding_backward_move",
    module: MODULE,
    params: &[Address, Address, U64, U64, U32, U64, Address, Address],
};
const STARTS: Kernel = Kernel {
    name: "embedding_backward_starts",
    module: MODULE,
    params: &[Address, Address, U64, U64, Address],
};

/// Bits of a digit that one pass sorts by, and below it the number of digits: the kernels' `DIGITS`.
const BITS: u32 = 8;
const DIGITS: usize = 1 << BITS;

/// Positions of the shortest chunk, of which all are multiples, and below it the most chunks: enough to fill any GPU, few enough
/// for one block to add up. The result does not depend on them.
const LEAST_CHUNK: usize = 2048;
const MOST_CHUNKS: usize = 256;

/// Positions of `indices`, sorted by row.
#[derive(Debug)]
pub(super) struct Order {
    /// Positions, 64 bits each; those of indices out of range are last.
    pub(super) sorted: Buffer,
    /// Start of each row's positions, 64 bits each, and the end of the last row's.
    pub(super) starts: Buffer,
}

impl Cuda {
    /// Sorts the positions of `indices`. Indices out of range are left in the fault record.
    pub(super) fn order(&self, indices: &Tensor, rows: usize) -> Result<Order, Error> {
        let [record, launch] = self.fault_args()?;
        let count = indices.len();
        let chunk = count.div_ceil(MOST_CHUNKS).next_multiple_of(LEAST_CHUNK).max(LEAST_CHUNK);
        let chunks = count.div_ceil(chunk);
        let counts = self.buffer(size_of::<u32>() * chunks * DIGITS)?;
        let firsts = self.buffer(size_of::<u64>() * chunks * DIGITS)?;
        let mut last: Option<Buffer> = None;
        for shift in digits(rows) {
            let to = self.buffer(size_of::<u64>() * count)?;
            let pass = [
                Arg::Address(last.as_ref().map_or(0, Buffer::address)),
                Arg::Address(indices.address()),
                Arg::U64(count as u64),
                Arg::U64(rows as u64),
                Arg::U32(shift),
                Arg::U64(chunk as u64),
            ];
            let [counts, firsts] = [&counts, &firsts].map(|of| Arg::Address(of.address()));
            let done = Arg::Address(self.fixed()?.done.address());
            let more = [counts, firsts, done, record, launch];
            self.launch(&COUNT, blocks(chunks), &[&pass[..], &more].concat())?;
            let more = [firsts, Arg::Address(to.address())];
            self.launch(&MOVE, blocks(chunks), &[&pass[..], &more].concat())?;
            last = Some(to);
        }
        let sorted = last.map_or_else(|| self.buffer(0), Ok)?;
        let starts = self.buffer(size_of::<u64>() * (rows + 1))?;
        let args = [
            Arg::Address(sorted.address()),
            Arg::Address(indices.address()),
            Arg::U64(count as u64),
            Arg::U64(rows as u64),
            Arg::Address(starts.address()),
        ];
        self.launch(&STARTS, blocks((rows + 1).div_ceil(THREADS as usize)), &args)?;
        Ok(Order { sorted, starts })
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
