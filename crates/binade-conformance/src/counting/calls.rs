//! Calls of a counted device, and the windows in which reads are allowed.

use std::{
    collections::BTreeMap,
    fmt,
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Calls of one method; reads are counted by place.
#[derive(Clone, Debug, PartialEq)]
pub struct Calls {
    /// Name of the method.
    pub method: &'static str,
    /// Line that called the method, if the method reads: at that line the host waits for the device.
    pub place: Option<&'static Location<'static>>,
    /// Number of calls.
    pub count: u64,
}

/// Prints `2 reads by download at src/main.rs:9:20`, or `1 call of mul`.
impl fmt::Display for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, place, count } = self;
        let s = if *count == 1 { "" } else { "s" };
        match place {
            Some(place) => write!(f, "{count} read{s} by {method} at {place}"),
            None => write!(f, "{count} call{s} of {method}"),
        }
    }
}

/// Key of a call: true if it reads nothing, its method, and its place.
type Key = (bool, &'static str, Option<&'static Location<'static>>);

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

    pub(super) fn add(&self, method: &'static str, place: Option<&'static Location<'static>>) {
        *self.counts().entry((place.is_none(), method, place)).or_default() += 1;
    }

    pub(super) fn calls(&self) -> Vec<Calls> {
        let calls = |(&(_, method, place), &count)| Calls { method, place, count };
        self.counts().iter().map(calls).collect()
    }

    fn counts(&self) -> MutexGuard<'_, BTreeMap<Key, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Guard of a window: while it is alive, reads of a strict device are allowed.
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
