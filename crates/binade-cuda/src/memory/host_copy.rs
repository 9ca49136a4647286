//! Asynchronous copies to the host through a ring of pinned memory. Each replay of a captured step starts them anew, after its graph.

use super::Buffer;
use binade_gpu::lock;
use cudarc::driver::{CudaEvent, PinnedHostSlice};
use std::{
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Pinned memory, and the event behind its last copy. Both return to their ring when dropped.
pub(crate) struct Pinned {
    /// Memory; `Some` until it is dropped.
    pub(crate) host: Option<PinnedHostSlice<u8>>,
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

    /// Leaks the memory: a copy is in progress, and its end is unknown.
    pub(crate) fn leak(&mut self) {
        std::mem::forget(self.host.take());
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            lock(&self.ring.slots).push(Slot { host, done: self.done.clone() });
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
    /// Bytes of all pinned memory that has been made for it, free or not.
    bytes: AtomicUsize,
}

impl Drop for Ring {
    /// Waits for copies in progress, which the memory must outlive. The device's next call returns its errors.
    fn drop(&mut self) {
        for slot in lock(&self.slots).iter() {
            let _ = slot.done.synchronize();
        }
    }
}

struct Slot {
    host: PinnedHostSlice<u8>,
    done: Arc<CudaEvent>,
}

impl Ring {
    /// Returns the size of the pinned memory for a copy of `bytes`.
    pub(crate) fn rounded(bytes: usize) -> usize {
        bytes.max(64).next_power_of_two()
    }

    /// Adds pinned memory that has been made for the ring.
    pub(crate) fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn holds(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the event of the oldest memory for `bytes`, unless that of some is done.
    pub(crate) fn pending(&self, bytes: usize) -> Option<Arc<CudaEvent>> {
        let slots = lock(&self.slots);
        let mut fit = slots.iter().filter(|slot| slot.host.len() == Self::rounded(bytes));
        let oldest = fit.next()?;
        let is_done = oldest.done.is_complete() || fit.any(|slot| slot.done.is_complete());
        (!is_done).then(|| oldest.done.clone())
    }

    /// Returns the first memory for `bytes` whose copy is done, without waiting. Larger memory is kept for larger copies.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<Pinned> {
        let mut slots = lock(&self.slots);
        let size = Self::rounded(bytes);
        let fits = |slot: &Slot| slot.host.len() == size && slot.done.is_complete();
        let place = slots.iter().position(fits)?;
        let Slot { host, done } = slots.remove(place);
        Some(Pinned { host: Some(host), done, bytes: 0, reported: 0, ring: self.clone() })
    }
}

/// Copy of a step to the host.
#[derive(Clone, Debug)]
pub(crate) enum HostCopy {
    /// Copy that is under way.
    Now(Arc<Pinned>),
    /// Copy that each replay starts.
    ReplayCopy(Arc<ReplayCopy>),
}

/// Copy that each replay starts.
#[derive(Debug)]
pub(crate) struct ReplayCopy {
    /// Source. It is not reused within the step, since the copy comes after the whole step.
    pub(crate) from: Arc<Buffer>,
    /// True for a step's report, which the counters include.
    pub(crate) is_report: bool,
    /// Number among the step's copies.
    pub(crate) number: usize,
    pub(crate) latest: Arc<LatestCopies>,
}

/// Copies of the latest replay, replaced together, so that copies of two replays are never mixed.
#[derive(Debug, Default)]
pub(crate) struct LatestCopies {
    /// `None` where a replay could not start all of them.
    pub(crate) sent: Mutex<Option<Copies>>,
}

/// Copies of one replay, by number.
pub(crate) type Copies = Arc<[Arc<Pinned>]>;

impl HostCopy {
    /// Returns the latest copy; `None` before the first replay.
    pub(crate) fn pinned(&self) -> Option<Arc<Pinned>> {
        match self {
            Self::Now(pinned) => Some(pinned.clone()),
            Self::ReplayCopy(later) => {
                lock(&later.latest.sent).as_ref()?.get(later.number).cloned()
            }
        }
    }

    /// Returns all copies of the latest replay, if the step is captured.
    pub(crate) fn copies(&self) -> Option<Copies> {
        match self {
            Self::Now(_) => None,
            Self::ReplayCopy(later) => lock(&later.latest.sent).clone(),
        }
    }

    /// Returns the copy of the replay that sent `copies`; later replays do not replace it.
    pub(crate) fn frozen(&self, copies: &Copies) -> Self {
        match self {
            Self::ReplayCopy(later) => {
                copies.get(later.number).cloned().map_or_else(|| self.clone(), Self::Now)
            }
            Self::Now(_) => self.clone(),
        }
    }

    /// Returns true if replays replace it.
    pub(crate) fn is_later(&self) -> bool {
        matches!(self, Self::ReplayCopy(_))
    }
}
