//! Ranks that are threads of one process, each with a device, that copy from the others' memory.
//!
//! The last rank to come to a call puts the copies of all into their streams, ordered by events, while the others wait for that: for a host's call,
//! never for a device. So before a rank returns, its later work is ordered after all reads of its memory.

use super::communicator::{Engine, Move, timed_out};
use crate::{CaptureError, Cuda, CudaError, Error, launch};
use binade_gpu::lock;
use cudarc::driver::DriverError;
use std::{
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Engine of one rank.
pub(super) struct Peer {
    rank: usize,
    shared: Arc<Shared>,
}

struct Shared {
    ranks: usize,
    patience: Duration,
    table: Mutex<Table>,
    changed: Condvar,
}

/// State of the call that ranks are making.
#[derive(Default)]
struct Table {
    /// Number of calls that all ranks have come to.
    complete: u64,
    /// Parts in the next call, by rank.
    given: Vec<Option<Part>>,
    /// Error that has ended the calls.
    end: Option<Error>,
}

/// Part of one rank in a call. The rank's thread has the turn of its stream, and borrows the memory, until the call is complete.
struct Part {
    cuda: Cuda,
    moves: Vec<Move>,
}

/// Makes the engines of so many ranks.
pub(super) fn engines(ranks: usize, patience: Duration) -> Vec<Peer> {
    let given = (0..ranks).map(|_| None).collect();
    let (table, changed) = (Mutex::new(Table { given, ..Table::default() }), Condvar::new());
    let shared = Arc::new(Shared { ranks, patience, table, changed });
    (0..ranks).map(|rank| Peer { rank, shared: shared.clone() }).collect()
}

impl Engine for Peer {
    fn run(&self, cuda: &Cuda, call: &'static str, moves: &[Move]) -> Result<(), Error> {
        let Shared { ranks, patience, ref table, ref changed } = *self.shared;
        if ranks == 1 {
            return Ok(());
        }
        let recorder = &cuda.inner.pool.state;
        recorder.refuse(call, CaptureError::Peers)?;
        // A warm-up is refused too, before there is a capture to spoil.
        if recorder.running().is_some() {
            return Err(CaptureError::Peers.of(call));
        }
        let mut table = lock(table);
        let number = table.complete;
        if table.end.is_none() {
            table.given[self.rank] = Some(Part { cuda: cuda.clone(), moves: moves.to_vec() });
            table.complete_if_all_came(call);
            changed.notify_all();
        }
        let is_open = |table: &mut Table| table.complete == number && table.end.is_none();
        let waited = changed.wait_timeout_while(table, patience, is_open);
        let (mut table, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if table.complete > number {
            // The thread that has put copies into all streams has bound other contexts.
            return cuda.bind();
        }
        let missing = (0..ranks).filter(|rank| table.given[*rank].is_none()).collect();
        let late = || timed_out(call, ranks, missing, patience);
        let end = table.end.get_or_insert_with(late).clone();
        changed.notify_all();
        Err(end)
    }

    /// Copies that are in the streams need no other rank.
    fn failure(&self) -> Result<(), Error> {
        Ok(())
    }

    fn abort(&self, _: &Cuda) {
        let cause = format!("rank {} has ended", self.rank);
        let gone = || Error::Driver(CudaError::Communication { call: "peers", cause });
        lock(&self.shared.table).end.get_or_insert_with(gone);
        self.shared.changed.notify_all();
    }

    fn finish(&self, cuda: &Cuda) {
        self.abort(cuda);
    }
}

impl Table {
    /// Does the call if every rank has given its part.
    fn complete_if_all_came(&mut self, call: &'static str) {
        if self.given.iter().any(Option::is_none) {
            return;
        }
        let parts: Vec<Part> = self.given.iter_mut().filter_map(Option::take).collect();
        match exchange(&parts) {
            Ok(()) => self.complete += 1,
            Err(cause) => {
                self.end = Some(Error::Driver(CudaError::Communication { call, cause }));
            }
        }
    }
}

/// Copy into one rank's memory from another's.
struct Copy {
    rank: usize,
    to: u64,
    other: usize,
    from: u64,
    bytes: usize,
}

/// Enqueues all copies in the streams, after all earlier work and before all later work.
fn exchange(parts: &[Part]) -> Result<(), String> {
    let copies = copies(parts)?;
    let done = order(parts).and_then(|()| {
        copies.iter().try_for_each(|&Copy { rank, to, other, from, bytes }| {
            let [here, there] = [rank, other].map(|rank| parts[rank].cuda.stream());
            let started = launch::copy_from_peer((here, to), (there, from), bytes);
            parts[rank].checked(rank, started)
        })
    });
    // Memory is reused only after its reads, even if a copy has failed.
    let ordered = order(parts);
    if ordered.is_err() {
        for part in parts {
            // A device that fails here too does nothing more.
            let _ = part.cuda.stream().synchronize();
        }
    }
    done.and(ordered)
}

/// Orders the later work of each rank after the earlier work of all.
fn order(parts: &[Part]) -> Result<(), String> {
    let event =
        |(rank, part): (usize, &Part)| part.checked(rank, part.cuda.stream().record_event(None));
    let events = parts.iter().enumerate().map(event).collect::<Result<Vec<_>, _>>()?;
    parts.iter().enumerate().try_for_each(|(rank, part)| {
        let others = events.iter().enumerate().filter(|(other, _)| *other != rank);
        others.map(|(_, event)| event).try_for_each(|event| {
            part.cuda.inner.counters.meetings.add(1);
            part.checked(rank, part.cuda.stream().wait(event))
        })
    })
}

impl Part {
    /// Names the rank in an error of its device.
    fn checked<T>(&self, rank: usize, outcome: Result<T, DriverError>) -> Result<T, String> {
        let ordinal = self.cuda.stream().context().ordinal();
        let named = |error| format!("rank {rank}, on CUDA device {ordinal}: {error}");
        self.cuda.check("copy from another rank", outcome).map_err(named)
    }
}

/// Returns the copies that the ranks' moves ask for. Moves that do not fit together are an error.
fn copies(parts: &[Part]) -> Result<Vec<Copy>, String> {
    let mut all = Vec::new();
    for (rank, part) in parts.iter().enumerate() {
        for (number, own) in part.moves.iter().enumerate() {
            let their = |other: usize| parts[other].moves.get(number).copied();
            let misfit = |other: usize, their: Option<Move>| {
                format!("rank {rank} asks for {own:?}, and rank {other} for {their:?}")
            };
            match *own {
                Move::AllGather { at, bytes, .. } => {
                    for other in 0..parts.len() {
                        let from = match their(other) {
                            Some(Move::AllGather { own, bytes: same, .. }) if same == bytes => own,
                            their => return Err(misfit(other, their)),
                        };
                        let to = at + (other * bytes) as u64;
                        all.push(Copy { rank, to, other, from, bytes });
                    }
                }
                Move::Broadcast { at, bytes } => match their(0) {
                    Some(Move::Broadcast { at: from, bytes: same }) if same == bytes => {
                        all.push(Copy { rank, to: at, other: 0, from, bytes });
                    }
                    their => return Err(misfit(0, their)),
                },
                Move::Receive { at, bytes, from: other } => {
                    let is_here =
                        |step: &&Move| matches!(step, Move::Send { to, .. } if *to == rank);
                    match parts[other].moves.iter().find(is_here) {
                        Some(&Move::Send { at: from, bytes: same, .. }) if same == bytes => {
                            all.push(Copy { rank, to: at, other, from, bytes });
                        }
                        their => return Err(misfit(other, their.copied())),
                    }
                }
                Move::Send { to: other, .. } => {
                    let is_taken =
                        |step: &Move| matches!(step, Move::Receive { from, .. } if *from == rank);
                    if !parts[other].moves.iter().any(is_taken) {
                        return Err(misfit(other, None));
                    }
                }
            }
        }
    }
    // A rank's own part may lie in its place already.
    all.retain(|copy| copy.rank != copy.other || copy.to != copy.from);
    Ok(all)
}
