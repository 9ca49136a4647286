//! Work in blocks of a fixed size, so that no result depends on how many threads there are.

use rayon::prelude::*;

/// Elements that one task takes. Less than two blocks of work run on the calling thread.
pub(crate) const BLOCK: usize = 1 << 14;

/// Calls `work(first, block)` for each block of `output`, `first` being the index of the block's first element.
pub(crate) fn blocks<T: Send>(output: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    rows(output, 1, 1, work);
}

/// Calls `work(first, rows)` for blocks of whole rows of `row` elements, `first` being the first row's number.
///
/// `cost` is what an element takes, in elementwise operations: it sizes the blocks, and must come from shapes alone.
pub(crate) fn rows<T: Send>(
    output: &mut [T],
    row: usize,
    cost: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    if output.is_empty() || row == 0 {
        return;
    }
    let step = (BLOCK / (row * cost.max(1)).max(1)).max(1);
    let task = |(i, block): (usize, &mut [T])| work(i * step, block);
    if output.len() <= step * row {
        work(0, output);
    } else {
        output.par_chunks_mut(step * row).enumerate().for_each(task);
    }
}
