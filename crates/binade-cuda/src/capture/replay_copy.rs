//! Copies to the host in a captured step: each replay starts them anew, behind its graph.

use crate::memory::{Buffer, Pinned};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Source. It is not handed out again within the step, since the copy comes behind all of it.
    pub(super) from: Arc<Buffer>,
    /// True for a step's report, which the ledger counts.
    pub(super) is_report: bool,
    /// Number among the step's copies.
    number: usize,
    latest: Arc<LatestCopies>,
}

/// Copies of the latest replay, all of a step's at once, so that none is seen beside those of another replay.
#[derive(Debug, Default)]
pub(crate) struct LatestCopies {
    sent: Mutex<Option<Copies>>,
}

/// Copies of one replay, by number.
pub(crate) type Copies = Arc<[Arc<Pinned>]>;

impl LatestCopies {
    /// Sets the copies of the latest replay; `None` if it could not start all of them.
    pub(super) fn set(&self, sent: Option<Copies>) {
        *self.lock() = sent;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Copies>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplayCopy {
    pub(super) fn new(
        from: Arc<Buffer>,
        is_report: bool,
        number: usize,
        latest: Arc<LatestCopies>,
    ) -> Self {
        Self { from, is_report, number, latest }
    }
}

impl HostCopy {
    /// Returns the latest copy; `None` before the first replay.
    pub(crate) fn pinned(&self) -> Option<Arc<Pinned>> {
        match self {
            Self::Now(pinned) => Some(pinned.clone()),
            Self::ReplayCopy(later) => later.latest.lock().as_ref()?.get(later.number).cloned(),
        }
    }

    /// Returns all copies of the latest replay, if the step is captured.
    pub(crate) fn copies(&self) -> Option<Copies> {
        match self {
            Self::Now(_) => None,
            Self::ReplayCopy(later) => later.latest.lock().clone(),
        }
    }

    /// Returns a copy that later replays do not replace: that of the replay which sent `copies`.
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
