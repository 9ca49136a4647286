//! Addresses that a graph works on, kept from others for as long as the graph lives.

use super::{arena::Arena, run::CAPTURED};
use crate::memory::{Memory, Pool};
use binade_gpu::Memory as _;
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Addresses that a graph reads and writes.
#[derive(Debug)]
pub(crate) struct GraphAddresses {
    addresses: BTreeSet<u64>,
    arena: Arc<Arena>,
    /// Memory of the graph that was dropped elsewhere meanwhile.
    kept: Mutex<Vec<Memory>>,
}

impl GraphAddresses {
    pub(super) fn new(addresses: BTreeSet<u64>, arena: Arc<Arena>) -> Self {
        Self { addresses, arena, kept: Mutex::default() }
    }

    /// Returns true if the graph works on this memory and it is not the graph's own.
    pub(super) fn needs(&self, memory: &Memory) -> bool {
        let is_own = memory.home.as_ref().is_some_and(|home| home.is(&self.arena, CAPTURED));
        let range = memory.address..memory.address + memory.bytes() as u64;
        !is_own && self.addresses.range(range).next().is_some()
    }

    pub(super) fn keep(&self, memory: Memory) {
        self.lock().push(memory);
    }

    /// Returns true if memory was dropped that the graph works on.
    pub(super) fn is_stale(&self) -> bool {
        !self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Memory>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Addresses of a graph, known to the pool from the end of the captured run until this is dropped.
#[derive(Debug)]
pub(super) struct GraphRegistration {
    pub(super) uses: Arc<GraphAddresses>,
    pool: Arc<Pool>,
}

impl GraphRegistration {
    pub(super) fn new(uses: Arc<GraphAddresses>, pool: &Arc<Pool>) -> Self {
        Self { uses, pool: pool.clone() }
    }
}

impl Drop for GraphRegistration {
    fn drop(&mut self) {
        self.pool.state.forget(&self.uses);
        let kept = std::mem::take(&mut *self.uses.lock());
        for memory in kept {
            self.pool.give(memory);
        }
    }
}
