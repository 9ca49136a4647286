//! Device memory, each buffer with the batch that used it last, and a ring of buffers that the host can read.
//!
//! Shaders run in the order of the calls, so a buffer's next user runs after its last one. An upload does not: the host writes before all work that
//! has not been submitted. So an upload takes no buffer that the current batch may still use.

use binade_gpu::{Memory, lock};
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use wgpu::{BufferAsyncError, MapMode};

/// A buffer of the pool.
pub(crate) type Buffer = binade_gpu::Buffer<Allocation>;
/// Buffers that are not in use.
pub(crate) type Pool = binade_gpu::Pool<Allocation>;

/// Greatest size in bytes of a buffer that is kept.
const KEPT: u64 = 4 << 20;

/// A buffer of wgpu's: a multiple of 256 bytes.
#[derive(Debug)]
pub struct Allocation {
    pub(crate) buffer: wgpu::Buffer,
    /// The batch that may be the last to use it.
    batch: u64,
}

impl Allocation {
    /// A new buffer, which no batch has used.
    pub(crate) fn new(buffer: wgpu::Buffer) -> Self {
        Self { buffer, batch: 0 }
    }

    /// Returns true if no batch from the one of this number on uses it.
    pub(crate) fn is_unused_by(&self, batch: &AtomicU64) -> bool {
        self.batch < batch.load(Ordering::Acquire)
    }
}

impl Memory for Allocation {
    /// The number of the batch at hand.
    type State = AtomicU64;

    fn bytes(&self) -> usize {
        usize::try_from(self.buffer.size()).unwrap_or(usize::MAX)
    }

    fn retire(self, batch: &AtomicU64) -> Option<Self> {
        Some(Self { batch: batch.load(Ordering::Acquire), ..self })
    }
}

/// Buffer that the host can read. It returns to its ring when dropped.
pub(crate) struct Staging {
    memory: wgpu::Buffer,
    /// True if the host reads it, or has requested to: the device must not use it then.
    is_mapped: AtomicBool,
    ring: Arc<Ring>,
}

impl Staging {
    pub(crate) fn new(memory: wgpu::Buffer, ring: Arc<Ring>) -> Self {
        Self { memory, is_mapped: AtomicBool::new(false), ring }
    }

    pub(crate) fn memory(&self) -> &wgpu::Buffer {
        &self.memory
    }

    /// Requests that the host can read it, once the copy into it is done.
    pub(crate) fn map(&self, answer: impl FnOnce(Result<(), BufferAsyncError>) + Send + 'static) {
        self.is_mapped.store(true, Ordering::Release);
        self.memory.slice(..).map_async(MapMode::Read, answer);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // This also ends a read that nobody waits for any more.
        if *self.is_mapped.get_mut() {
            self.memory.unmap();
        }
        if self.memory.size() <= KEPT {
            lock(&self.ring.slots).push(self.memory.clone());
        }
    }
}

impl fmt::Debug for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Staging({} bytes)", self.memory.size())
    }
}

/// Free buffers that the host can read. A copy into one may still be under way: the next one comes behind it.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    slots: Mutex<Vec<wgpu::Buffer>>,
}

impl Ring {
    /// Returns a free buffer of exactly `bytes`.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Option<Staging> {
        let mut slots = lock(&self.slots);
        let place = slots.iter().position(|slot| slot.size() == bytes)?;
        Some(Staging::new(slots.swap_remove(place), self.clone()))
    }

    pub(crate) fn trim(&self) {
        lock(&self.slots).clear();
    }
}
