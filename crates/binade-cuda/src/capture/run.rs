//! A run of a step that is to be captured: what it does, in order, and what keeps alive what it did.

use super::{
    arena::Arena,
    later::{Later, Latest},
    why::Uncapturable,
};
use crate::{
    CudaError, Error,
    memory::{Buffer, Memory},
};
use binade_gpu::Memory as _;
use std::{
    any::Any,
    collections::BTreeSet,
    sync::{Arc, Weak, atomic::AtomicU64},
    thread::ThreadId,
};

/// The number of the run that is captured, after the warm-ups.
pub(super) const CAPTURED: u8 = 2;

/// A piece of work in the stream, with all that the host gives it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Operation {
    pub(super) name: &'static str,
    pub(super) words: Vec<u64>,
}

/// What a run has done, for the next to be held to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    pub(super) operations: Vec<Operation>,
    /// Whoever moved something to another address, the first: what comes after it in the next run is elsewhere.
    pub(super) moved: Option<&'static str>,
}

#[derive(Debug)]
pub(crate) struct Run {
    pub(super) thread: ThreadId,
    pub(super) arena: Arc<Arena>,
    pub(super) number: u8,
    pub(super) done: Done,
    /// What the last warm-up did.
    expected: Done,
    /// Every word that may be an address, lengths and the like among them: what is none costs a refusal at worst, and only
    /// where memory lies at so low an address.
    pub(super) addresses: BTreeSet<u64>,
    /// What is read after the run, or found again by each replay.
    pub(super) held: Vec<Arc<Buffer>>,
    pub(super) later: Vec<Arc<Later>>,
    pub(super) latest: Arc<Latest>,
    /// Launches that look at indices, so far.
    pub(super) indexed: u32,
    /// Counts of steps that the host keeps.
    pub(super) counts: Vec<Arc<AtomicU64>>,
    /// Of what the step works on and can lose without its memory being dropped.
    pub(super) alive: Vec<Weak<()>>,
    /// What the step writes to in place, as nobody else holds it.
    pub(super) sole: Vec<Weak<dyn Any + Send + Sync>>,
    /// The first thing that went wrong.
    pub(super) trouble: Option<Error>,
}

impl Run {
    pub(super) fn new(arena: Arc<Arena>, number: u8, expected: Done) -> Self {
        Self {
            thread: std::thread::current().id(),
            arena,
            number,
            done: Done::default(),
            expected,
            addresses: BTreeSet::new(),
            held: Vec::new(),
            later: Vec::new(),
            latest: Arc::default(),
            indexed: 0,
            counts: Vec::new(),
            alive: Vec::new(),
            sole: Vec::new(),
            trouble: None,
        }
    }

    pub(super) fn is_capture(&self) -> bool {
        self.number == CAPTURED
    }

    pub(super) fn is_here(&self) -> bool {
        self.thread == std::thread::current().id()
    }

    /// What was done last.
    pub(super) fn last(&self) -> &'static str {
        self.done.operations.last().map_or("the start", |operation| operation.name)
    }

    /// Writes an operation down; one that is captured must be what the last warm-up did.
    pub(super) fn note(&mut self, name: &'static str, words: Vec<u64>) -> Result<(), Error> {
        let (number, operation) = (self.done.operations.len(), Operation { name, words });
        if self.is_capture() && self.expected.operations.get(number) != Some(&operation) {
            return Err(self.differs(name, Uncapturable::Changed { number }));
        }
        self.addresses.extend(&operation.words);
        self.done.operations.push(operation);
        Ok(())
    }

    /// Notes that it is not what the last warm-up did, and gives the error: what that one moved is at another address now.
    pub(super) fn differs(&mut self, operation: &'static str, why: Uncapturable) -> Error {
        match self.expected.moved {
            Some(operation) => self.fails(operation, Uncapturable::Moved),
            None => self.fails(operation, why),
        }
    }

    /// Notes that something has moved which was there before the run.
    pub(super) fn moves(&mut self, operation: &'static str, memory: &Memory) {
        if !self.has_made(memory) {
            self.done.moved.get_or_insert(operation);
        }
    }

    /// Whether it was taken in this run.
    pub(super) fn has_made(&self, memory: &Memory) -> bool {
        memory.home.as_ref().is_some_and(|home| home.is(&self.arena, self.number))
    }

    /// Whether the captured run may lose this memory: its own, and what no replay will look for.
    pub(super) fn lets_go(&self, memory: &Memory) -> bool {
        let range = memory.address..memory.address + memory.bytes() as u64;
        let is_unused = self.addresses.range(range).next().is_none();
        match &memory.home {
            Some(home) if Arc::ptr_eq(&self.arena, &home.arena) => home.run == self.number,
            Some(_) => is_unused,
            None => is_unused && !self.is_here(),
        }
    }

    /// Notes that something went wrong, and gives the error.
    pub(super) fn fails(&mut self, operation: &'static str, why: Uncapturable) -> Error {
        let error = Error::Driver(CudaError::Capture { operation, why });
        self.trouble.get_or_insert_with(|| error.clone());
        error
    }

    /// What is wrong with the run as a whole.
    pub(super) fn outcome(&mut self) -> Result<(), Error> {
        let number = self.done.operations.len();
        if self.is_capture()
            && self.trouble.is_none()
            && let Some(next) = self.expected.operations.get(number)
        {
            return Err(self.fails(next.name, Uncapturable::Missing { number }));
        }
        self.trouble.clone().map_or(Ok(()), Err)
    }
}
