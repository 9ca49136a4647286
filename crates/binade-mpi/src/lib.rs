#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!(
    "binade-mpi is for Linux only, where `mpicc` finds MPI: elsewhere ranks are threads of one process, by binade-ranks"
);

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
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

/// Time for which a call that waits uses its core.
const BUSY: Duration = Duration::from_millis(10);
/// Least and greatest time between two tests of a call after `BUSY`.
const PAUSES: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(1)];

/// Rank that is an MPI process. [`run`] creates it.
#[derive(Debug)]
pub struct Mpi {
    rank: usize,
    ranks: usize,
    patience: Duration,
    /// Time for which a call that waits uses its core.
    busy: Duration,
    state: Arc<Mutex<State>>,
}

/// MPI state of one of this process's groups.
#[derive(Debug)]
struct State {
    /// Communicator; `None` once MPI has ended.
    world: Option<World>,
    roll: Roll,
    /// Error that ended the group.
    end: Option<GroupError>,
    /// State of the group that [`Mpi::duplicate`] returns.
    second: Option<Second>,
}

#[derive(Debug)]
struct Second {
    state: Arc<Mutex<State>>,
    is_given: bool,
}

impl State {
    fn new(world: World, second: Option<Second>) -> Arc<Mutex<Self>> {
        let roll = Roll::new(world.rank, world.ranks);
        Arc::new(Mutex::new(Self { world: Some(world), roll, end: None, second }))
    }
}

impl Mpi {
    /// Starts MPI.
    fn start(patience: Duration) -> Outcome<Self> {
        let [world, second] = World::start()?;
        let (rank, ranks) = (world.rank, world.ranks);
        let second = Second { state: State::new(second, None), is_given: false };
        Ok(Self { rank, ranks, patience, busy: BUSY, state: State::new(world, Some(second)) })
    }

    /// Returns a second group of the same ranks, with its own communicator, for another thread such as that of
    /// [`Ranks::overlapping`](binade_ranks::Ranks::overlapping). Its calls may run while calls of this group wait, and they yield the core while they
    /// wait.
    ///
    /// # Errors
    ///
    /// Returns an error if it was called before: a process has two groups.
    pub fn duplicate(&self) -> Result<Self, GroupError> {
        let mut state = self.lock();
        let given = state.second.as_mut().and_then(|it| {
            let is_new = !mem::replace(&mut it.is_given, true);
            is_new.then(|| it.state.clone())
        });
        let why = "a process has two groups, and the second was given before".into();
        let state = given.ok_or(GroupError::Failed { call: "duplicate", why })?;
        Ok(Self { busy: Duration::ZERO, state, ..*self })
    }

    /// Makes a call, and fills `into` with the received parts, which have these lengths and whose ranks are as in [`Head::unframe`].
    fn call(
        &self,
        call: Call,
        (into, lengths, ranks): (&mut [u8], &[usize], (usize, Option<usize>)),
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
        let done = self.complete(&mut state, call, begin).and_then(|pending| {
            let done = head.unframe(pending.received(), lengths, ranks, into);
            if let Some(world) = &mut state.world {
                world.keep(pending);
            }
            done.map_err(failed)
        });
        if let Err(error) = &done {
            state.end = Some(error.clone());
        }
        done
    }

    /// Begins a call, and waits until it completes.
    fn complete(
        &self,
        state: &mut State,
        call: Call,
        begin: impl FnOnce(&mut World) -> Outcome<Pending>,
    ) -> Result<Pending, GroupError> {
        let failed = |why| GroupError::Failed { call: call.name(), why };
        let State { world, roll, .. } = state;
        let world = world.as_mut().ok_or_else(|| failed("MPI has ended".into()))?;
        let start = Instant::now();
        let mut pending = begin(world).map_err(failed)?;
        let turns = if self.busy.is_zero() { 2 } else { 64 };
        loop {
            // MPI makes progress only while it is tested. Most calls complete within these tests, which read no clock.
            for _ in 0..turns {
                if world.is_done(&mut pending).map_err(failed)? {
                    return Ok(pending);
                }
            }
            roll.answer(world).map_err(failed)?;
            let waited = start.elapsed();
            if waited >= self.patience {
                return Err(self.late(call, roll));
            }
            // The other half of the patience is left for answers.
            if waited >= self.patience / 2 {
                roll.ask(world).map_err(failed)?;
            }
            // A rank that waits for a slow one yields the core to it.
            if waited < self.busy { thread::yield_now() } else { thread::sleep(pause(waited)) }
        }
    }

    /// Returns the error of a call that timed out.
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
        self.call(Call::End, (&mut [], &[], (0, None)), |world, _| world.barrier())?;
        let failed = |why| GroupError::Failed { call: Call::End.name(), why };
        let mut state = self.lock();
        let Some(Second { state: second, .. }) = state.second.take() else { return Ok(()) };
        let mut second = second.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(end) = &second.end {
            return Err(end.clone());
        }
        let worlds = state.world.take().zip(second.world.take());
        worlds.map_or(Ok(()), |(first, second)| World::finish([first, second])).map_err(failed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time between two tests of a call that has waited for this long. It is a quarter of the wait, so that a short call returns soon and a
/// long one is tested rarely.
fn pause(waited: Duration) -> Duration {
    (waited / 4).clamp(PAUSES[0], PAUSES[1])
}

impl Group for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        self.call(Call::AllGather, (all, lengths, (0, None)), |world, head| {
            let framed = frame::lengths(lengths, None)?;
            frame::fits(
                "given",
                own.len(),
                lengths.get(self.rank..=self.rank).unwrap_or_default(),
            )?;
            world.all_gather(|into| head.frame(own, &[own.len()], None, into), &framed)
        })
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        // MPI would copy this rank's own part three times, so only its head is sent.
        let own = Some(self.rank);
        self.call(Call::Exchange, (&mut *receive, receives, (0, own)), |world, head| {
            let [to_send, to_receive] = [sends, receives].map(|it| frame::lengths(it, own));
            world.exchange(|into| head.frame(send, sends, own, into), &to_send?, &to_receive?)
        })?;
        let place = |lengths: &[usize]| {
            let start: usize = lengths[..self.rank].iter().sum();
            start..start + lengths[self.rank]
        };
        receive[place(receives)].copy_from_slice(&send[place(sends)]);
        Ok(())
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        let lengths = [bytes.len()];
        let own = if self.rank == root { bytes.to_vec() } else { vec![] };
        self.call(Call::Broadcast, (bytes, &lengths, (root, None)), |world, head| {
            let mut framed = vec![0; frame::lengths(&lengths, None)?[0]];
            if self.rank == root {
                head.frame(&own, &lengths, None, &mut framed)?;
            }
            world.broadcast(root, framed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_call_ends_soon_and_one_that_waits_long_takes_few_turns() {
        let turns = |until: Duration| {
            let (mut waited, mut turns) = (Duration::ZERO, 0);
            while waited < until {
                let pause = pause(waited);
                assert!(pause <= PAUSES[0].max(waited / 4));
                (waited, turns) = (waited + pause, turns + 1);
            }
            turns
        };
        // Eight milliseconds are a megabyte at 1 Gbit/s.
        assert_eq!([1, 8, 100].map(|it| turns(Duration::from_millis(it))), [9, 19, 111]);
    }
}
