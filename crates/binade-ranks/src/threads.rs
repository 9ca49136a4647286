//! Group of ranks that are threads of one process.

use crate::{Group, GroupError, group::copy};
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Rank that is a thread of this process. Dropping it ends the group for the ranks that still wait for this one.
///
/// # Examples
///
/// ```
/// use binade_ranks::{Group, threads};
/// use std::{thread, time::Duration};
///
/// let ranks = threads(3, Duration::from_secs(10));
/// let running = ranks.into_iter().map(|group| {
///     thread::spawn(move || {
///         let (own, mut all) = ([group.rank() as u8], [0; 3]);
///         group.all_gather(&own, &[1; 3], &mut all).map(|()| all)
///     })
/// });
/// for rank in running.collect::<Vec<_>>() {
///     assert_eq!(rank.join().unwrap(), Ok([0, 1, 2]));
/// }
/// ```
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    ranks: usize,
    patience: Duration,
    shared: Arc<Shared>,
}

/// Makes a group of `ranks` ranks, one for each thread. A call waits at most `patience` for the other ranks.
pub fn threads(ranks: usize, patience: Duration) -> Vec<Threads> {
    let table = Table { given: vec![None; ranks], ..Table::default() };
    let shared = Arc::new(Shared { table: Mutex::new(table), changed: Condvar::new() });
    let rank = |rank| Threads { rank, ranks, patience, shared: shared.clone() };
    (0..ranks).map(rank).collect()
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    changed: Condvar,
}

/// State shared by the ranks of a group during a call.
#[derive(Debug, Default)]
struct Table {
    /// Number of calls that all ranks have reached.
    complete: u64,
    /// Parts of the last complete call. The next call cannot complete before every rank has taken these.
    last: Arc<[Part]>,
    /// Parts of the next call, by rank.
    given: Vec<Option<Part>>,
    /// Ranks that were dropped.
    gone: Vec<usize>,
    /// Reason why the group has ended.
    end: Option<End>,
}

/// Part of one rank in a call.
#[derive(Clone, Debug)]
struct Part {
    call: &'static str,
    bytes: Vec<u8>,
    /// Number of bytes for each rank in an exchange.
    lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
enum End {
    TimedOut(Vec<usize>),
    Lost(Vec<usize>),
    Mixed(String),
}

impl Threads {
    /// Gives this rank's part, waits for the other ranks' parts, and returns all parts.
    fn meet(
        &self,
        call: &'static str,
        bytes: &[u8],
        lengths: &[usize],
    ) -> Result<Arc<[Part]>, GroupError> {
        let begun = Instant::now();
        let part = Part { call, bytes: bytes.to_vec(), lengths: lengths.to_vec() };
        let mut table = self.lock();
        let number = table.complete;
        table.given[self.rank] = Some(part);
        table.complete_if_all_came();
        self.shared.changed.notify_all();
        loop {
            // A complete call succeeds even if the group has ended since.
            if table.complete > number {
                return Ok(table.last.clone());
            }
            let left = self.patience.saturating_sub(begun.elapsed());
            if let Some(end) = table.end_seen(left.is_zero()) {
                self.shared.changed.notify_all();
                return Err(self.error(call, end));
            }
            let waited = self.shared.changed.wait_timeout(table, left);
            table = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn error(&self, call: &'static str, end: End) -> GroupError {
        let Self { ranks, patience, .. } = *self;
        match end {
            End::TimedOut(missing) => GroupError::TimedOut { call, missing, ranks, patience },
            End::Lost(missing) => GroupError::Lost { call, missing, ranks },
            End::Mixed(why) => GroupError::Failed { call, why },
        }
    }

    /// Ends the group if the lengths of parts differ from those that this rank expects.
    fn fitting(&self, filled: Result<(), GroupError>) -> Result<(), GroupError> {
        if let Err(GroupError::Failed { why, .. }) = &filled {
            self.lock().end.get_or_insert(End::Mixed(why.clone()));
        }
        filled
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Completes the call if every rank has given its part, and all parts are of the same call.
    fn complete_if_all_came(&mut self) {
        if self.end.is_some() || self.given.iter().any(Option::is_none) {
            return;
        }
        let parts: Vec<Part> = self.given.iter_mut().filter_map(Option::take).collect();
        if let Some(rank) = parts.iter().position(|part| part.call != parts[0].call) {
            let (first, other) = (parts[0].call, parts[rank].call);
            self.end = Some(End::Mixed(format!("rank 0 calls `{first}`, rank {rank} `{other}`")));
            return;
        }
        (self.last, self.complete) = (parts.into(), self.complete + 1);
    }

    /// Returns the reason why the group ended: the recorded one, or one that this rank now detects.
    fn end_seen(&mut self, is_late: bool) -> Option<End> {
        let missing = || (0..self.given.len()).filter(|rank| self.given[*rank].is_none());
        let now = match (self.gone.is_empty(), is_late) {
            (false, _) => Some(End::Lost(self.gone.clone())),
            (true, true) => Some(End::TimedOut(missing().collect())),
            (true, false) => None,
        };
        self.end = self.end.take().or(now);
        self.end.clone()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let rank = self.rank;
        self.lock().gone.push(rank);
        self.shared.changed.notify_all();
    }
}

impl Group for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        let call = "all_gather";
        let parts = self.meet(call, own, &[])?;
        self.fitting(fill(call, all, lengths, parts.iter().map(|part| &*part.bytes)))
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        let call = "exchange";
        let parts = self.meet(call, send, sends)?;
        let for_this = |part: &Part| {
            let start: usize = part.lengths.iter().take(self.rank).sum();
            let len = part.lengths.get(self.rank).copied().unwrap_or_default();
            start..start + len
        };
        let own = parts.iter().map(|part| part.bytes.get(for_this(part)).unwrap_or_default());
        self.fitting(fill(call, receive, receives, own))
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        let call = "broadcast";
        let own: &[u8] = if self.rank == root { bytes } else { &[] };
        let parts = self.meet(call, own, &[])?;
        let from = parts.get(root).map_or(&[][..], |part| &part.bytes);
        self.fitting(copy(call, from, bytes))
    }
}

/// Fills `into` with the parts in order, each of the given length.
fn fill<'p>(
    call: &'static str,
    mut into: &mut [u8],
    lengths: &[usize],
    parts: impl Iterator<Item = &'p [u8]>,
) -> Result<(), GroupError> {
    for (part, len) in parts.zip(lengths) {
        let (own, rest) = into.split_at_mut(into.len().min(*len));
        copy(call, part, own)?;
        into = rest;
    }
    Ok(())
}
