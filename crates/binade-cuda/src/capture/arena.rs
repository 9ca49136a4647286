//! Memory of one capture. Equal requests in equal order get equal addresses.

use crate::memory::{Memory, Pool};
use binade_gpu::Memory as _;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Memory by size and number. The lowest free number of a size is served first, in whatever order memory came back. Two runs that
/// start from the same state and request the same are served the same.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<(usize, u64), Memory>,
    made: u64,
    /// True once the capture is over: memory that comes back then goes to the pool.
    is_closed: bool,
}

/// Arena and number of a memory, to which it returns when dropped.
#[derive(Clone, Debug)]
pub(crate) struct ArenaSlot {
    pub(super) arena: Arc<Arena>,
    number: u64,
    /// Number of the run that took the memory.
    pub(super) run: u8,
}

impl ArenaSlot {
    /// Returns true if the memory was taken in this run of this capture.
    pub(super) fn is(&self, arena: &Arc<Arena>, run: u8) -> bool {
        Arc::ptr_eq(&self.arena, arena) && self.run == run
    }
}

impl Arena {
    /// Returns free memory of this size for a run, if there is some.
    pub(super) fn take(self: &Arc<Self>, bytes: usize, run: u8) -> Option<Memory> {
        let mut state = self.lock();
        let (&(_, number), _) = state.free.range((bytes, 0)..=(bytes, u64::MAX)).next()?;
        let mut memory = state.free.remove(&(bytes, number))?;
        memory.home = Some(ArenaSlot { arena: self.clone(), number, run });
        Some(memory)
    }

    /// Adds memory that was allocated for a run.
    pub(crate) fn adopt(self: &Arc<Self>, mut memory: Memory, run: u8) -> Memory {
        let mut state = self.lock();
        state.made += 1;
        memory.home = Some(ArenaSlot { arena: self.clone(), number: state.made, run });
        memory
    }

    /// Takes back memory. Returns it if the capture is over, for the pool.
    pub(super) fn give(&self, mut memory: Memory, home: &ArenaSlot) -> Option<Memory> {
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

    /// Locks the state. It is whole even after a panic, since no change of it can stop halfway.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Arena in use. Dropping it gives the memory to the pool.
#[derive(Debug)]
pub(super) struct ArenaLease {
    pub(super) arena: Arc<Arena>,
    pool: Arc<Pool>,
}

impl ArenaLease {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self { arena: Arc::default(), pool }
    }
}

impl Drop for ArenaLease {
    fn drop(&mut self) {
        self.arena.close().into_values().for_each(|memory| self.pool.give(memory));
    }
}
