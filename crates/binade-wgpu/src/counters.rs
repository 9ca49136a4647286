//! Counts of the host's work for the device.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the device was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DeviceCounters {
    /// Times that the host waited for the device.
    pub syncs: u64,
    /// Shaders that were dispatched; each part of a large tensor counts as one.
    pub dispatches: u64,
    /// Command buffers that were submitted.
    pub submits: u64,
    /// Bytes that were uploaded: tensors, and state that the host keeps current on the device.
    pub uploaded_bytes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    syncs: AtomicU64,
    dispatches: AtomicU64,
    submits: AtomicU64,
    uploaded_bytes: AtomicU64,
}

impl Counters {
    pub(crate) fn sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn dispatch(&self) {
        self.dispatches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn submit(&self) {
        self.submits.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn upload(&self, bytes: usize) {
        self.uploaded_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> DeviceCounters {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DeviceCounters {
            syncs: now(&self.syncs),
            dispatches: now(&self.dispatches),
            submits: now(&self.submits),
            uploaded_bytes: now(&self.uploaded_bytes),
        }
    }
}
