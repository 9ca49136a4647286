//! Ring of pinned host memory, for copies that run while the host goes on.

use cudarc::driver::{CudaEvent, PinnedHostSlice};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Pinned memory, and the event behind its last copy. Both return to their ring when dropped.
pub(crate) struct Pinned {
    /// Memory; `Some` until it is dropped.
    host: Option<PinnedHostSlice<u8>>,
    pub(crate) done: Arc<CudaEvent>,
    /// Bytes of the last copy.
    pub(crate) bytes: usize,
    /// Number of bad indices reported before a step's report was written.
    pub(crate) reported: u64,
    ring: Arc<Ring>,
}

impl Pinned {
    pub(crate) fn new(host: PinnedHostSlice<u8>, done: CudaEvent, ring: Arc<Ring>) -> Self {
        Self { host: Some(host), done: Arc::new(done), bytes: 0, reported: 0, ring }
    }

    pub(crate) fn host(&self) -> Option<&PinnedHostSlice<u8>> {
        self.host.as_ref()
    }

    /// Leaks the memory: a copy is under way, and nothing tells when it is done.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(self.host.take());
    }

    pub(crate) fn host_mut(&mut self) -> Option<&mut PinnedHostSlice<u8>> {
        self.host.as_mut()
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            self.ring.lock().push(Slot { host, done: self.done.clone() });
        }
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({} bytes)", self.bytes)
    }
}

/// Free pinned memory; copies may still be under way.
#[derive(Default)]
pub(crate) struct Ring {
    slots: Mutex<Vec<Slot>>,
}

impl Drop for Ring {
    /// Waits for copies under way, which the memory must outlive. The device's next call returns its errors.
    fn drop(&mut self) {
        for slot in self.lock().iter() {
            let _ = slot.done.synchronize();
        }
    }
}

struct Slot {
    host: PinnedHostSlice<u8>,
    done: Arc<CudaEvent>,
}

impl Ring {
    /// Returns the first memory that holds `bytes` and whose copy is done, without waiting.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Pinned> {
        let mut slots = self.lock();
        let fits = |slot: &Slot| slot.host.len() >= bytes && slot.done.is_complete();
        let place = slots.iter().position(fits)?;
        let Slot { host, done } = slots.remove(place);
        Some(Pinned { host: Some(host), done, bytes: 0, reported: 0, ring: self.clone() })
    }

    /// Locks the slots. They are whole even after a panic, since no change of them can stop halfway.
    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
