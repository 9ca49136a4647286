//! Work in blocks whose size follows from shapes alone, so that no result depends on how many threads there are.
//!
//! Costs are in elementwise operations: an addition is 1, a row of a matrix product as much as its multiplications.
//!
//! A block is called through a pointer: rayon's machinery is then compiled once for each element type, and not once for each
//! operation, which was half of this crate's code.

use crate::Error;
use rayon::prelude::*;
use std::ops::Range;

/// What one task should cost at least: some ten microseconds.
pub(crate) const BLOCK: usize = 1 << 14;

/// Work of less than this costs less than waking another thread; it stays on the calling one.
pub(crate) const WORTH_A_THREAD: usize = 1 << 17;

/// How many items of `cost` each make a block.
pub(crate) fn block_of(cost: usize) -> usize {
    (BLOCK / cost.max(1)).max(1)
}

/// Calls `work(first, block)` for each block of `output`, `first` being the index of the block's first element.
pub(crate) fn blocks<T: Send>(output: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    rows(output, 1, 1, work);
}

/// Calls `work(first, block)` for blocks of whole rows of `row` elements, `first` being the first row's number.
///
/// `cost` is what a row takes.
pub(crate) fn rows<T: Send>(
    output: &mut [T],
    row: usize,
    cost: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    each_row(output, row, cost, &work);
}

fn each_row<T: Send>(
    output: &mut [T],
    row: usize,
    cost: usize,
    work: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    if output.is_empty() {
        return;
    }
    let step = block_of(cost);
    let task = |(i, block): (usize, &mut [T])| work(i * step, block);
    if (output.len() / row).saturating_mul(cost) < WORTH_A_THREAD {
        output.chunks_mut(step * row).enumerate().for_each(task);
    } else {
        output.par_chunks_mut(step * row).enumerate().for_each(task);
    }
}

/// What `work` makes of each block of `0..count`, in order; `cost` is what an item takes.
pub(crate) fn partials<T: Send>(
    count: usize,
    cost: usize,
    work: impl Fn(Range<usize>) -> T + Sync,
) -> Vec<T> {
    each_partial(count, cost, &work)
}

fn each_partial<T: Send>(
    count: usize,
    cost: usize,
    work: &(dyn Fn(Range<usize>) -> T + Sync),
) -> Vec<T> {
    let step = block_of(cost);
    let task = |i: usize| work(i * step..(i * step + step).min(count));
    let blocks = 0..count.div_ceil(step);
    if count.saturating_mul(cost) < WORTH_A_THREAD {
        blocks.map(task).collect()
    } else {
        blocks.into_par_iter().map(task).collect()
    }
}

/// One half of some work.
pub(crate) type Half<'a> = Box<dyn FnOnce() -> Result<(), Error> + Send + 'a>;

/// Both halves, side by side where a thread is idle; of two errors, the left one's.
pub(crate) fn join(left: Half<'_>, right: Half<'_>) -> Result<(), Error> {
    let (left, right) = rayon::join(left, right);
    left.and(right)
}
