#![doc = include_str!("../README.md")]

mod frame;
#[allow(unsafe_code, reason = "MPI is a library of C")]
mod raw;
mod roll;
mod run;

pub use run::run;

use binade_ranks::{Group, GroupError};
use frame::Head;
use raw::{Outcome, Pending, World};
use roll::{Call, Roll};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Time for which a call that waits uses its core.
const BUSY: Duration = Duration::from_millis(10);
/// Time between turns after that. MPI moves some megabytes a turn.
const PAUSE: Duration = Duration::from_micros(100);

/// Rank that is a process of MPI. [`run`] makes it.
#[derive(Debug)]
pub struct Mpi {
    rank: usize,
    ranks: usize,
    patience: Duration,
    state: Arc<Mutex<State>>,
}

/// State of this process in MPI.
#[derive(Debug)]
struct State {
    /// MPI, until it ends.
    world: Option<World>,
    roll: Roll,
    /// Error that the group has ended with.
    end: Option<GroupError>,
}

impl Mpi {
    /// Starts MPI.
    fn start(patience: Duration) -> Outcome<Self> {
        let world = World::start()?;
        let (rank, ranks) = (world.rank, world.ranks);
        let state = State { world: Some(world), roll: Roll::new(rank, ranks), end: None };
        Ok(Self { rank, ranks, patience, state: Arc::new(Mutex::new(state)) })
    }

    /// Makes a call, and fills `into` with the parts that come, of these lengths, of ranks from `first` on.
    fn call(
        &self,
        call: Call,
        (into, lengths, first): (&mut [u8], &[usize], usize),
        begin: impl FnOnce(&mut World, Head) -> Outcome<Pending>,
    ) -> Result<(), GroupError> {
        let mut state = self.lock();
        if let Some(end) = &state.end {
            return Err(end.clone());
        }
        let failed = |why| GroupError::Failed { call: call.name(), why };
        let head = state.roll.begin(call);
        let begin = |world: &mut World| {
            let pending = begin(world, head)?;
            frame::fits("to be filled", into.len(), lengths).map(|()| pending)
        };
        let come = self.complete(&mut state, call, begin);
        let done = come.and_then(|come| head.unframe(&come, lengths, first, into).map_err(failed));
        if let Err(error) = &done {
            state.end = Some(error.clone());
        }
        done
    }

    /// Begins a call, and returns the bytes that come.
    fn complete(
        &self,
        state: &mut State,
        call: Call,
        begin: impl FnOnce(&mut World) -> Outcome<Pending>,
    ) -> Result<Vec<u8>, GroupError> {
        let failed = |why| GroupError::Failed { call: call.name(), why };
        let State { world, roll, .. } = state;
        let world = world.as_mut().ok_or_else(|| failed("MPI has ended".into()))?;
        let start = Instant::now();
        let mut pending = begin(world).map_err(failed)?;
        loop {
            // MPI works on a call while it is asked. Most end within these turns, which look at no clock.
            for _ in 0..64 {
                if world.is_done(&mut pending).map_err(failed)? {
                    return Ok(pending.received());
                }
            }
            roll.answer(world).map_err(failed)?;
            let waited = start.elapsed();
            if waited >= self.patience {
                return Err(self.late(call, roll));
            }
            // Ranks have the other half to answer in.
            if waited >= self.patience / 2 {
                roll.ask(world).map_err(failed)?;
            }
            // A rank that waits for a slow one leaves it the core.
            if waited < BUSY { thread::yield_now() } else { thread::sleep(PAUSE) }
        }
    }

    /// Returns the error of a call that did not end in time.
    fn late(&self, call: Call, roll: &Roll) -> GroupError {
        let (name, own, patience, ranks) = (call.name(), self.rank, self.patience, self.ranks);
        let missing = roll.missing();
        let why = match roll.other_call() {
            Some((rank, other)) => {
                format!("rank {own} calls `{name}`, rank {rank} `{}`", other.name())
            }
            None if missing.is_empty() => format!(
                "every rank came, and yet it did not end within {patience:?}: the others have given up, or the network has; end all \
                 ranks and start again from a checkpoint"
            ),
            None => return GroupError::TimedOut { call: name, missing, ranks, patience },
        };
        GroupError::Failed { call: name, why }
    }

    /// Ends MPI together with the other ranks.
    fn finish(&self) -> Result<(), GroupError> {
        self.call(Call::End, (&mut [], &[], 0), |world, _| world.barrier())?;
        let failed = |why| GroupError::Failed { call: Call::End.name(), why };
        self.lock().world.take().map_or(Ok(()), World::finish).map_err(failed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Group for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        self.call(Call::AllGather, (all, lengths, 0), |world, head| {
            let framed = frame::lengths(lengths)?;
            frame::fits(
                "given",
                own.len(),
                lengths.get(self.rank..=self.rank).unwrap_or_default(),
            )?;
            world.all_gather(head.frame(own, &[own.len()])?, &framed)
        })
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        self.call(Call::Exchange, (receive, receives, 0), |world, head| {
            let [to_send, to_receive] = [frame::lengths(sends)?, frame::lengths(receives)?];
            world.exchange(head.frame(send, sends)?, &to_send, &to_receive)
        })
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        let lengths = [bytes.len()];
        let own = if self.rank == root { bytes.to_vec() } else { vec![] };
        self.call(Call::Broadcast, (bytes, &lengths, root), |world, head| {
            let mut framed = vec![0; frame::lengths(&lengths)?[0]];
            if self.rank == root {
                framed = head.frame(&own, &lengths)?;
            }
            world.broadcast(root, framed)
        })
    }
}
