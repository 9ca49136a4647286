//! A buffer of the pool.

use super::Pool;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{Ordering, fence},
    },
};

/// Whether nobody else holds it. Whoever dropped the last clone has asked for its reads before: the count alone would not
/// order that.
pub(crate) fn is_alone<T>(shared: &Arc<T>) -> bool {
    let is_alone = Arc::strong_count(shared) == 1;
    fence(Ordering::Acquire);
    is_alone
}

/// Device memory that goes back to the pool when it is dropped; a multiple of 256 bytes, of which the first few are meant.
pub(crate) struct Buffer {
    memory: wgpu::Buffer,
    bytes: usize,
    pool: Arc<Pool>,
}

impl Buffer {
    /// The first `bytes` of `memory`.
    pub(crate) fn new(memory: wgpu::Buffer, bytes: usize, pool: Arc<Pool>) -> Self {
        Self { memory, bytes, pool }
    }

    /// Whether it came from this pool.
    pub(crate) fn is_from(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it lies.
    pub(crate) fn memory(&self) -> &wgpu::Buffer {
        &self.memory
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.give(self.memory.clone());
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.bytes)
    }
}
