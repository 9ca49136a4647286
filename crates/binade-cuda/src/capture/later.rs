//! Copies to the host that a captured step asks for: each replay starts them anew, behind its graph.

use crate::memory::{Buffer, Pinned};
use std::sync::{Arc, Mutex, PoisonError};

/// What a step sends to the host.
#[derive(Clone, Debug)]
pub(crate) enum Sent {
    /// On its way.
    Now(Arc<Pinned>),
    /// Sent by each replay.
    Later(Arc<Later>),
}

/// A copy that each replay starts.
#[derive(Debug)]
pub(crate) struct Later {
    /// Not given to anyone else in the step: the copy comes behind the whole of it.
    pub(super) from: Arc<Buffer>,
    /// Whether it is a step's report, which the ledger counts.
    pub(super) is_report: bool,
    latest: Mutex<Option<Arc<Pinned>>>,
}

impl Later {
    pub(crate) fn new(from: Arc<Buffer>, is_report: bool) -> Self {
        Self { from, is_report, latest: Mutex::default() }
    }

    pub(super) fn put(&self, pinned: Pinned) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(pinned));
    }

    fn latest(&self) -> Option<Arc<Pinned>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sent {
    /// Of the latest replay, if it comes from replays; `None` before the first.
    pub(crate) fn pinned(&self) -> Option<Arc<Pinned>> {
        match self {
            Self::Now(pinned) => Some(pinned.clone()),
            Self::Later(later) => later.latest(),
        }
    }

    /// The same for good: later replays do not change it. Before the first replay it is what it was.
    pub(crate) fn frozen(&self) -> Self {
        self.pinned().map_or_else(|| self.clone(), Self::Now)
    }

    /// Whether replays change it.
    pub(crate) fn is_later(&self) -> bool {
        matches!(self, Self::Later(_))
    }
}
