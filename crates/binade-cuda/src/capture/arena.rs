//! The memory of one capture: the same requests in the same order get the same addresses.

use crate::memory::{Memory, Pool};
use binade_gpu::Memory as _;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Memory by size and number. The one with the lowest number is served first, whatever the order in which it came back: two
/// runs that begin with the same and ask alike are served alike.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<(usize, u64), Memory>,
    made: u64,
    /// Nobody will ask again: what comes back is the pool's.
    is_closed: bool,
}

/// Where memory goes when it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    pub(super) arena: Arc<Arena>,
    number: u64,
    /// The run that took it.
    pub(super) run: u8,
}

impl Home {
    /// Whether it was taken in this run of this capture.
    pub(super) fn is(&self, arena: &Arc<Arena>, run: u8) -> bool {
        Arc::ptr_eq(&self.arena, arena) && self.run == run
    }
}

impl Arena {
    /// Memory of this size for a run, if some is free.
    pub(super) fn take(self: &Arc<Self>, bytes: usize, run: u8) -> Option<Memory> {
        let mut state = self.lock();
        let (&(_, number), _) = state.free.range((bytes, 0)..=(bytes, u64::MAX)).next()?;
        let mut memory = state.free.remove(&(bytes, number))?;
        memory.home = Some(Home { arena: self.clone(), number, run });
        Some(memory)
    }

    /// Takes in memory that was made for a run.
    pub(crate) fn adopt(self: &Arc<Self>, mut memory: Memory, run: u8) -> Memory {
        let mut state = self.lock();
        state.made += 1;
        memory.home = Some(Home { arena: self.clone(), number: state.made, run });
        memory
    }

    /// Takes back what it has served; gives it on where nobody will ask again.
    pub(super) fn give(&self, mut memory: Memory, home: &Home) -> Option<Memory> {
        let mut state = self.lock();
        memory.home = None;
        if state.is_closed {
            return Some(memory);
        }
        state.free.insert((memory.bytes(), home.number), memory);
        None
    }

    fn close(&self) -> BTreeMap<(usize, u64), Memory> {
        let mut state = self.lock();
        state.is_closed = true;
        std::mem::take(&mut state.free)
    }

    /// Nothing is half done where a thread could panic.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An arena that is in use; when it is dropped, the pool has its memory.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) arena: Arc<Arena>,
    pool: Arc<Pool>,
}

impl Room {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self { arena: Arc::default(), pool }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.arena.close().into_values().for_each(|memory| self.pool.give(memory));
    }
}
