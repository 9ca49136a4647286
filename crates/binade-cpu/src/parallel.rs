//! Parallel work in blocks whose size depends only on shapes, so that results do not depend on the number of threads.
//!
//! Costs are in elementwise operations: an addition is 1, a row of a matrix product as much as its multiplications.
//!
//! A block is called through a pointer. The machinery is then compiled once for each element type. Compiled once for each operation, it was half of
//! this crate's code.

mod filled;
mod share;

pub(crate) use filled::{CHUNK, filled, zeros};
pub(crate) use share::{each, map};

use std::ops::Range;

/// Least cost of one task: some ten microseconds.
pub(crate) const BLOCK: usize = 1 << 14;

/// Cost below which work stays on the calling thread: waking another thread costs more.
const WORTH_A_THREAD: usize = 1 << 17;

/// Returns true if `operations` are worth waking other threads for.
pub(crate) fn is_worth_threads(operations: usize) -> bool {
    operations >= WORTH_A_THREAD
}

/// Returns the number of items of `cost` each that make a block.
pub(crate) fn block_of(cost: usize) -> usize {
    (BLOCK / cost.max(1)).max(1)
}

/// Calls `work(first, block)` for each block of `output`, `first` being the index of the block's first element.
pub(crate) fn blocks<T: Send>(output: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    rows(output, 1, 1, work);
}

/// Calls `work(first, block)` for blocks of whole rows of `row` elements, `first` being the first row's number.
///
/// `cost` is that of a row.
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
    let (rows, length) = (output.len() / row, step * row);
    if is_worth_threads(rows.saturating_mul(cost)) {
        each(output.chunks_mut(length).enumerate(), task);
    } else {
        output.chunks_mut(length).enumerate().for_each(task);
    }
}

/// Returns the results of `work` for each block of `0..count`, in order; `cost` is that of an item.
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
    if is_worth_threads(count.saturating_mul(cost)) {
        map(blocks, task)
    } else {
        blocks.map(task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, rows};
    use std::{sync::Mutex, thread};

    /// Returns first row and length of each block of `count` rows of two elements, and true if the calling thread worked on it.
    fn blocks(count: usize, cost: usize) -> Vec<(usize, usize, bool)> {
        let (caller, seen) = (thread::current().id(), Mutex::new(Vec::new()));
        rows(&mut vec![0_u8; 2 * count], 2, cost, |first, block| {
            let here = thread::current().id() == caller;
            seen.lock().expect("no block fails").push((first, block.len(), here));
        });
        let mut seen = seen.into_inner().expect("no block fails");
        seen.sort_unstable();
        seen
    }

    #[test]
    fn a_block_holds_as_many_whole_rows_as_its_cost_allows() {
        assert_eq!(blocks(7, BLOCK / 3), [(0, 6, true), (3, 6, true), (6, 2, true)]);
        assert_eq!(blocks(2, 2 * BLOCK), [(0, 2, true), (1, 2, true)]);
    }

    #[test]
    fn work_below_131072_operations_stays_on_the_calling_thread() {
        assert!(blocks(127, 1024).iter().all(|(_, _, here)| *here));
    }
}
