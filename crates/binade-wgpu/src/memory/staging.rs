//! Ring of buffers that the host can read. A copy into one is waited for only when it is read.

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use wgpu::{BufferAsyncError, MapMode};

/// Greatest size in bytes of a buffer that is kept.
const KEPT: u64 = 4 << 20;

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
            self.ring.lock().push(self.memory.clone());
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
        let mut slots = self.lock();
        let place = slots.iter().position(|slot| slot.size() == bytes)?;
        Some(Staging::new(slots.swap_remove(place), self.clone()))
    }

    pub(crate) fn trim(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<wgpu::Buffer>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
