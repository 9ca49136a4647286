//! Buffers of the pool.

use super::{Addressed, Memory, Pool};
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
    },
};

/// Returns true if there is no other strong reference. The fence orders the reads that the last other owner made before it dropped its clone: the
/// count alone would not.
pub fn is_alone<T: ?Sized>(shared: &Arc<T>) -> bool {
    let is_alone = Arc::strong_count(shared) == 1;
    fence(Ordering::Acquire);
    is_alone
}

/// Device memory that goes back to its pool when it is dropped.
pub struct Buffer<M: Memory> {
    /// Present until it is dropped.
    memory: Option<M>,
    bytes: usize,
    pool: Arc<Pool<M>>,
    writes: AtomicU64,
}

impl<M: Memory> Buffer<M> {
    /// Returns a buffer of the first `bytes` of `memory`.
    pub fn new(memory: M, bytes: usize, pool: Arc<Pool<M>>) -> Self {
        Self { memory: Some(memory), bytes, pool, writes: AtomicU64::new(0) }
    }

    /// Returns true if it came from this pool.
    pub(crate) fn is_from(&self, pool: &Arc<Pool<M>>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    /// Returns the bytes that were asked for; the allocation may have more.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of writes that all owners see: see [`count_write`](Self::count_write).
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::Acquire)
    }

    /// Counts a write into memory that may be shared. The write is in the stream by then, so that no cast of the elements before it
    /// is kept as one of those behind it.
    pub fn count_write(&self) {
        self.writes.fetch_add(1, Ordering::Release);
    }

    /// Returns the pool that it goes back to.
    pub(crate) fn pool(&self) -> &Arc<Pool<M>> {
        &self.pool
    }

    /// Returns the allocation.
    pub fn memory(&self) -> &M {
        self.memory
            .as_ref()
            .unwrap_or_else(|| unreachable!("memory stays until the buffer is dropped"))
    }

    /// Returns the allocation, to write to.
    pub fn memory_mut(&mut self) -> &mut M {
        self.memory
            .as_mut()
            .unwrap_or_else(|| unreachable!("memory stays until the buffer is dropped"))
    }
}

impl<M: Addressed> Buffer<M> {
    /// Returns the device address of its first byte.
    pub fn address(&self) -> u64 {
        self.memory().address()
    }
}

impl<M: Memory> Drop for Buffer<M> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.give(memory);
        }
    }
}

impl<M: Memory> fmt::Debug for Buffer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.bytes)
    }
}
