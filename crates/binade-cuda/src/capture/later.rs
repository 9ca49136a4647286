//! Copies to the host that a captured step asks for: each replay starts them anew, behind its graph.

use crate::memory::{Buffer, Pinned};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    /// Its place among the step's copies.
    number: usize,
    latest: Arc<Latest>,
}

/// What the latest replay has sent, all of a step's copies at once: none is ever seen beside those of another replay.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    sent: Mutex<Option<Copies>>,
}

/// Of one replay, by number.
pub(crate) type Copies = Arc<[Arc<Pinned>]>;

impl Latest {
    /// `None` where a replay could not send all of them.
    pub(super) fn set(&self, sent: Option<Copies>) {
        *self.lock() = sent;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Copies>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Later {
    pub(super) fn new(
        from: Arc<Buffer>,
        is_report: bool,
        number: usize,
        latest: Arc<Latest>,
    ) -> Self {
        Self { from, is_report, number, latest }
    }
}

impl Sent {
    /// What is on its way by now; `None` before the first replay.
    pub(crate) fn pinned(&self) -> Option<Arc<Pinned>> {
        match self {
            Self::Now(pinned) => Some(pinned.clone()),
            Self::Later(later) => later.latest.lock().as_ref()?.get(later.number).cloned(),
        }
    }

    /// What the latest replay has sent of the step that this is of, if it is a captured one's.
    pub(crate) fn copies(&self) -> Option<Copies> {
        match self {
            Self::Now(_) => None,
            Self::Later(later) => later.latest.lock().clone(),
        }
    }

    /// The same for good, of the replay that sent `copies`: later ones do not change it.
    pub(crate) fn frozen(&self, copies: &Copies) -> Self {
        match self {
            Self::Later(later) => {
                copies.get(later.number).cloned().map_or_else(|| self.clone(), Self::Now)
            }
            Self::Now(_) => self.clone(),
        }
    }

    /// Whether replays change it.
    pub(crate) fn is_later(&self) -> bool {
        matches!(self, Self::Later(_))
    }
}
