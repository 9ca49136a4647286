//! Run of a step to be captured: its operations in order, and the objects that it keeps alive.

use super::{arena::Arena, error::CaptureError};
use crate::{
    Error,
    memory::{Buffer, LatestCopies, Memory, ReplayCopy},
};
use binade_gpu::Memory as _;
use std::{
    any::Any,
    collections::BTreeSet,
    sync::{Arc, Weak, atomic::AtomicU64},
    thread::ThreadId,
};

/// Number of the captured run, after the warm-ups.
pub(super) const CAPTURED: u8 = 2;

/// Piece of work in the stream, with all values that the host gives it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Operation {
    pub(super) name: &'static str,
    pub(super) words: Vec<u64>,
}

/// Operations of a run, for comparison with the next run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedOperations {
    pub(super) operations: Vec<Operation>,
    /// First operation that moved older memory to another address. Its addresses differ in the next run.
    pub(super) moved: Option<&'static str>,
}

/// Work that the host has at each replay of a run, and objects that the run keeps alive for it.
#[derive(Debug, Default)]
pub(crate) struct Replay {
    /// Buffers that are read after the run, or found again by each replay.
    pub(super) held: Vec<Arc<Buffer>>,
    /// Copies to the host that each replay starts.
    pub(super) later: Vec<Arc<ReplayCopy>>,
    pub(super) latest: Arc<LatestCopies>,
    /// Number of launches that check indices.
    pub(crate) indexed: u32,
    /// Step counts that the host keeps, which each replay raises by one.
    pub(crate) counts: Vec<Arc<AtomicU64>>,
    /// Objects that the step needs and that can be replaced without their memory being dropped.
    pub(crate) alive: Vec<Weak<()>>,
    /// Objects that the step writes in place, since no clone of them exists.
    pub(crate) sole: Vec<Weak<dyn Any + Send + Sync>>,
}

impl Replay {
    /// Adds a copy that each replay starts.
    pub(crate) fn copy(&mut self, from: &Arc<Buffer>, is_report: bool) -> Arc<ReplayCopy> {
        let (from, number, latest) = (from.clone(), self.later.len(), self.latest.clone());
        let copy = Arc::new(ReplayCopy { from, is_report, number, latest });
        self.later.push(copy.clone());
        copy
    }
}

#[derive(Debug)]
pub(crate) struct CapturedRun {
    pub(super) thread: ThreadId,
    pub(super) arena: Arc<Arena>,
    pub(super) number: u8,
    pub(super) done: RecordedOperations,
    /// Operations of the last warm-up.
    expected: RecordedOperations,
    /// Every word that may be an address, lengths and the like among them. A false one costs a refusal at worst, and only if
    /// memory lies at so low an address.
    pub(super) addresses: BTreeSet<u64>,
    pub(super) replay: Replay,
    /// First error of the run.
    pub(super) trouble: Option<Error>,
}

impl CapturedRun {
    pub(super) fn new(arena: Arc<Arena>, number: u8, expected: RecordedOperations) -> Self {
        Self {
            thread: std::thread::current().id(),
            arena,
            number,
            done: RecordedOperations::default(),
            expected,
            addresses: BTreeSet::new(),
            replay: Replay::default(),
            trouble: None,
        }
    }

    pub(super) fn is_capture(&self) -> bool {
        self.number == CAPTURED
    }

    pub(super) fn is_here(&self) -> bool {
        self.thread == std::thread::current().id()
    }

    /// Returns the name of the last operation.
    pub(super) fn last(&self) -> &'static str {
        self.done.operations.last().map_or("the start", |operation| operation.name)
    }

    /// Records an operation. In the captured run it must equal the operation of the last warm-up.
    pub(super) fn note(&mut self, name: &'static str, words: Vec<u64>) -> Result<(), Error> {
        let (number, operation) = (self.done.operations.len(), Operation { name, words });
        if self.is_capture() && self.expected.operations.get(number) != Some(&operation) {
            return Err(self.differs(name, CaptureError::Changed { number }));
        }
        self.addresses.extend(&operation.words);
        self.done.operations.push(operation);
        Ok(())
    }

    /// Records a difference to the last warm-up, and returns the error. If that warm-up moved memory, the move is the cause: its
    /// new address differs now.
    pub(super) fn differs(&mut self, operation: &'static str, why: CaptureError) -> Error {
        match self.expected.moved {
            Some(operation) => self.fails(operation, CaptureError::Moved),
            None => self.fails(operation, why),
        }
    }

    /// Records that an operation has moved memory from before the run.
    pub(super) fn moves(&mut self, operation: &'static str, memory: &Memory) {
        if !self.allocated(memory) {
            self.done.moved.get_or_insert(operation);
        }
    }

    /// Returns true if the memory was taken in this run.
    pub(super) fn allocated(&self, memory: &Memory) -> bool {
        memory.home.as_ref().is_some_and(|home| home.is(&self.arena, self.number))
    }

    /// Returns true if the captured run may drop this memory: its own, and memory that no replay uses.
    pub(super) fn lets_go(&self, memory: &Memory) -> bool {
        let range = memory.address..memory.address + memory.bytes() as u64;
        let is_unused = self.addresses.range(range).next().is_none();
        match &memory.home {
            Some(home) if Arc::ptr_eq(&self.arena, &home.arena) => home.run == self.number,
            Some(_) => is_unused,
            None => is_unused && !self.is_here(),
        }
    }

    /// Records an error of the run, and returns it.
    pub(super) fn fails(&mut self, operation: &'static str, why: CaptureError) -> Error {
        let error = why.of(operation);
        self.trouble.get_or_insert_with(|| error.clone());
        error
    }

    /// Returns the first error of the run, or an error if it did fewer operations than the last warm-up.
    pub(super) fn outcome(&mut self) -> Result<(), Error> {
        let number = self.done.operations.len();
        if self.is_capture()
            && self.trouble.is_none()
            && let Some(next) = self.expected.operations.get(number)
        {
            return Err(self.fails(next.name, CaptureError::Missing { number }));
        }
        self.trouble.clone().map_or(Ok(()), Err)
    }
}
