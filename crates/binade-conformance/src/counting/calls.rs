//! Calls of a counted device, and the windows in which it may be read.

use std::{
    collections::BTreeMap,
    fmt,
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Kind of a call, by what it moves between host and device.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum CallKind {
    /// Read, for which the host waits.
    Read,
    /// Upload of values of the host.
    Upload,
    /// Work that a device may do later.
    Launch,
}

/// Calls of one method, and for reads from one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// Kind of the calls.
    pub kind: CallKind,
    /// Name of the method.
    pub method: &'static str,
    /// Line that called the method, if it reads.
    pub place: Option<&'static Location<'static>>,
    /// Number of calls.
    pub count: u64,
}

/// Prints `2 reads by download at src/main.rs:9:20`.
impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match (self.kind, self.count) {
            (CallKind::Read, 1) => "read",
            (CallKind::Read, _) => "reads",
            (CallKind::Upload, 1) => "upload",
            (CallKind::Upload, _) => "uploads",
            (CallKind::Launch, 1) => "launch",
            (CallKind::Launch, _) => "launches",
        };
        write!(f, "{} {noun} by {}", self.count, self.method)?;
        self.place.map_or(Ok(()), |place| write!(f, " at {place}"))
    }
}

type Key = (CallKind, &'static str, Option<&'static Location<'static>>);

/// State shared by the clones of a counted device.
pub(super) struct Tally {
    is_strict: bool,
    windows: AtomicUsize,
    counts: Mutex<BTreeMap<Key, u64>>,
}

impl Tally {
    pub(super) fn new(is_strict: bool) -> Self {
        Self { is_strict, windows: AtomicUsize::new(0), counts: Mutex::default() }
    }

    pub(super) fn allows_reads(&self) -> bool {
        !self.is_strict || self.windows.load(Ordering::Relaxed) > 0
    }

    pub(super) fn add(
        &self,
        kind: CallKind,
        method: &'static str,
        place: Option<&'static Location<'static>>,
    ) {
        *self.counts().entry((kind, method, place)).or_default() += 1;
    }

    pub(super) fn calls(&self) -> Vec<Calls> {
        let calls = |(&(kind, method, place), &count)| Calls { kind, method, place, count };
        self.counts().iter().map(calls).collect()
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<Key, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard of a window: a strict device may be read while it lives.
#[must_use = "the window closes when the guard is dropped"]
pub struct Window(Arc<Tally>);

impl Window {
    pub(super) fn open(tally: &Arc<Tally>) -> Self {
        tally.windows.fetch_add(1, Ordering::Relaxed);
        Self(tally.clone())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        self.0.windows.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Window")
    }
}
