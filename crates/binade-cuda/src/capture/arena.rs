//! Memory of one capture, and the addresses that its graph reserves. Equal requests in equal order get equal addresses.

use super::run::CAPTURED;
use crate::memory::{Memory, Pool};
use binade_gpu::{Memory as _, lock};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

/// Memory by size and number. The lowest free number of a size is served first, whatever the order in which memory was returned. Two runs that start
/// from the same state and request the same are served the same.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    free: BTreeMap<(usize, u64), Memory>,
    made: u64,
    /// True once the capture is over: memory returned after that goes to the pool.
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
        let mut state = lock(&self.state);
        let (&(_, number), _) = state.free.range((bytes, 0)..=(bytes, u64::MAX)).next()?;
        let mut memory = state.free.remove(&(bytes, number))?;
        memory.home = Some(ArenaSlot { arena: self.clone(), number, run });
        Some(memory)
    }

    /// Adds memory that was allocated for a run.
    pub(crate) fn adopt(self: &Arc<Self>, mut memory: Memory, run: u8) -> Memory {
        let mut state = lock(&self.state);
        state.made += 1;
        memory.home = Some(ArenaSlot { arena: self.clone(), number: state.made, run });
        memory
    }

    /// Takes back memory. Returns it if the capture is over, for the pool.
    pub(super) fn give(&self, mut memory: Memory, home: &ArenaSlot) -> Option<Memory> {
        let mut state = lock(&self.state);
        memory.home = None;
        if state.is_closed {
            return Some(memory);
        }
        state.free.insert((memory.bytes(), home.number), memory);
        None
    }

    fn close(&self) -> BTreeMap<(usize, u64), Memory> {
        let mut state = lock(&self.state);
        state.is_closed = true;
        std::mem::take(&mut state.free)
    }
}

/// Arena in use. Dropping it gives the memory to the pool.
#[derive(Debug)]
pub(super) struct ArenaLease {
    pub(super) arena: Arc<Arena>,
    pub(super) pool: Arc<Pool>,
}

impl Drop for ArenaLease {
    fn drop(&mut self) {
        self.arena.close().into_values().for_each(|memory| self.pool.give(memory));
    }
}

/// Addresses that a graph reads and writes.
#[derive(Debug)]
pub(crate) struct GraphAddresses {
    pub(super) addresses: BTreeSet<u64>,
    pub(super) arena: Arc<Arena>,
    /// Memory of the graph that was dropped elsewhere meanwhile.
    pub(super) kept: Mutex<Vec<Memory>>,
}

impl GraphAddresses {
    /// Returns true if the graph works on this memory and it is not the graph's own.
    pub(super) fn needs(&self, memory: &Memory) -> bool {
        let is_own = memory.home.as_ref().is_some_and(|home| home.is(&self.arena, CAPTURED));
        let range = memory.address..memory.address + memory.bytes() as u64;
        !is_own && self.addresses.range(range).next().is_some()
    }
}

/// Addresses of a graph, known to the pool from the end of the captured run until this is dropped.
#[derive(Debug)]
pub(super) struct GraphRegistration {
    pub(super) uses: Arc<GraphAddresses>,
    pub(super) pool: Arc<Pool>,
}

impl Drop for GraphRegistration {
    fn drop(&mut self) {
        self.pool.state.forget(&self.uses);
        let kept = std::mem::take(&mut *lock(&self.uses.kept));
        for memory in kept {
            self.pool.give(memory);
        }
    }
}
