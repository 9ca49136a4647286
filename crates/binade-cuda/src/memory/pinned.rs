//! Pinned host memory that goes round: copies from and to it run while the host goes on.

use cudarc::driver::{CudaEvent, PinnedHostSlice};
use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Pinned memory and the event behind its last copy; both go back to their ring when it is dropped.
pub(crate) struct Pinned {
    /// Always there until it is dropped.
    host: Option<PinnedHostSlice<u8>>,
    pub(crate) done: Arc<CudaEvent>,
    /// Bytes of the last copy.
    pub(crate) bytes: usize,
    /// Of a step's report: how many bad indices had been reported before it was written.
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

    /// Gives it to nobody any more: a copy is under way of which nothing tells when it is done.
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

/// Pinned memory that nobody holds; copies may still be under way.
#[derive(Default)]
pub(crate) struct Ring {
    slots: Mutex<Vec<Slot>>,
}

impl Drop for Ring {
    /// Copies that are under way are waited for: the memory must outlive them. Errors are the device's to tell.
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
    /// The first that holds `bytes` and whose copy is done; never one that would have to be waited for.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Pinned> {
        let mut slots = self.lock();
        let fits = |slot: &Slot| slot.host.len() >= bytes && slot.done.is_complete();
        let place = slots.iter().position(fits)?;
        let Slot { host, done } = slots.remove(place);
        Some(Pinned { host: Some(host), done, bytes: 0, reported: 0, ring: self.clone() })
    }

    /// Nothing is half done where a thread could panic.
    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
