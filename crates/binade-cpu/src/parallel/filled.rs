//! Large results in memory that is written once.
#![allow(unsafe_code, reason = "memory that is not written yet")]

use super::blocks;
use crate::pool::{self, Pooled};

/// Number of elements of a chunk, which stays in the cache.
pub(crate) const CHUNK: usize = 256;

/// Returns `len` elements, computed by `work(first, chunk)` for chunks of at most [`CHUNK`], `first` being the index of the chunk's first
/// element. Their memory is written once: zeros from the allocator would be written by one thread.
pub(crate) fn filled<T: Pooled>(len: usize, work: impl Fn(usize, &mut [T]) + Sync) -> Vec<T> {
    let mut output = pool::take(len);
    blocks(&mut output.spare_capacity_mut()[..len], |first, block| {
        let mut chunk = [T::default(); CHUNK];
        for (first, output) in (first..).step_by(CHUNK).zip(block.chunks_mut(CHUNK)) {
            let chunk = &mut chunk[..output.len()];
            work(first, chunk);
            output.write_copy_of_slice(chunk);
        }
    });
    // SAFETY: the vector has room for `len` elements, the blocks are all of them, and each chunk was written.
    unsafe { output.set_len(len) };
    output
}

/// Returns `len` zeros.
pub(crate) fn zeros<T: Pooled>(len: usize) -> Vec<T> {
    filled(len, |_, chunk| chunk.fill(T::default()))
}
