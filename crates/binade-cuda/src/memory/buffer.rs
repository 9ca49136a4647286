//! A buffer of the pool.

use super::{Memory, Pool};
use cudarc::driver::{CudaView, CudaViewMut};
use std::{
    fmt,
    ops::Range,
    sync::{
        Arc,
        atomic::{Ordering, fence},
    },
};

/// Whether nobody else holds it, whatever captured steps know of it. Whoever dropped the last clone has put its reads in the
/// stream before: the count alone would not order that.
pub(crate) fn is_alone<T>(shared: &Arc<T>) -> bool {
    let is_alone = Arc::strong_count(shared) == 1;
    fence(Ordering::Acquire);
    is_alone
}

/// Device memory that goes back to the pool when it is dropped.
pub(crate) struct Buffer {
    /// Always there until it is dropped.
    memory: Option<Memory>,
    bytes: usize,
    address: u64,
    pool: Arc<Pool>,
}

impl Buffer {
    /// The first `bytes` of `memory`.
    pub(crate) fn new(memory: Memory, bytes: usize, pool: Arc<Pool>) -> Self {
        let address = memory.address;
        Self { memory: Some(memory), bytes, address, pool }
    }

    /// Whether it came from this pool.
    pub(crate) fn is_from(&self, pool: &Arc<Pool>) -> bool {
        Arc::ptr_eq(&self.pool, pool)
    }

    /// Whether this thread captures a step of its handle.
    pub(crate) fn is_captured(&self) -> bool {
        self.pool.recorder.running() == Some(true)
    }

    /// Where it is, for as long as it lives.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where it lies.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    /// These bytes of it; `None` where it has not as many.
    pub(crate) fn view(&self, bytes: Range<usize>) -> Option<CudaView<'_, u8>> {
        self.memory.as_ref().filter(|_| bytes.end <= self.bytes)?.slice.try_slice(bytes)
    }

    pub(crate) fn view_mut(&mut self) -> Option<CudaViewMut<'_, u8>> {
        self.memory.as_mut()?.slice.try_slice_mut(..self.bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.give(memory);
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {:#x})", self.bytes, self.address)
    }
}
