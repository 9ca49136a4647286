//! Gate of a stream, shared by all handles that work in it. While one handle captures there, no other enters.

use super::error::CaptureError;
use crate::{
    Error,
    memory::{Lender, Memory},
};
use binade_gpu::lock;
use cudarc::driver::CudaStream;
use std::{
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, Weak},
    thread::ThreadId,
};

/// Gate that work passes into a stream. A handle checks and enqueues in one turn, and a capture neither begins nor ends during a
/// turn.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(super) capture: RwLock<Option<Capture>>,
    /// Memory of handles dropped while another captured: the capture would record the free.
    buried: Mutex<Vec<Memory>>,
    /// Owners of adopted memory that was dropped during a capture, which would record the event behind the work on it.
    waiting: Mutex<Vec<Lender>>,
}

/// Capture under way.
#[derive(Debug)]
pub(crate) struct Capture {
    handle: u64,
    thread: ThreadId,
    /// Error of the step's work on another handle, which a replay would not repeat.
    trouble: Mutex<Option<Error>>,
}

/// Permission of the calling thread to enqueue work, for as long as it is held. A thread holds at most one.
pub(crate) type Turn<'g> = RwLockReadGuard<'g, Option<Capture>>;

/// Addresses of a context and a stream.
type StreamId = [usize; 2];

static GATES: Mutex<Vec<(StreamId, Weak<Gate>)>> = Mutex::new(Vec::new());

impl Gate {
    /// Returns the gate of this stream, made on first use.
    pub(crate) fn of(stream: &CudaStream) -> Arc<Self> {
        let place = [stream.context().cu_ctx() as usize, stream.cu_stream() as usize];
        let mut gates = lock(&GATES);
        gates.retain(|(_, gate)| gate.strong_count() > 0);
        let known = gates.iter().find(|(other, _)| *other == place);
        known.and_then(|(_, gate)| gate.upgrade()).unwrap_or_else(|| {
            let gate = Arc::default();
            gates.push((place, Arc::downgrade(&gate)));
            gate
        })
    }

    /// Begins a capture of this handle; `begin` starts it in the driver.
    pub(super) fn begin(
        &self,
        handle: u64,
        begin: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut capture = self.capture.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = &*capture {
            other.lets_in(handle, "capture")?;
            return Err(CaptureError::Nested.of("capture"));
        }
        begin()?;
        let thread = std::thread::current().id();
        *capture = Some(Capture { handle, thread, trouble: Mutex::default() });
        Ok(())
    }

    /// Ends the capture. Returns the result of `end`, and the error of work that the gate has refused meanwhile.
    pub(super) fn end<T>(&self, end: impl FnOnce() -> T) -> (T, Option<Error>) {
        let mut capture = self.capture.write().unwrap_or_else(PoisonError::into_inner);
        let ended = end();
        let trouble = capture.take().and_then(|capture| lock(&capture.trouble).take());
        // Freed before the next capture can begin.
        lock(&self.buried).clear();
        let waiting = std::mem::take(&mut *lock(&self.waiting));
        let followed: Vec<_> = waiting.iter().map(Lender::follow).collect();
        // Owners run code of their own when they are dropped, and that code may enter this gate.
        drop(capture);
        waiting.into_iter().zip(followed).for_each(|(lender, it)| lender.give_back(it));
        (ended, trouble)
    }

    /// Returns adopted memory to its owner, after the handle's work: now, or when the capture has ended.
    pub(crate) fn give_back(&self, lender: Lender) {
        let capture = self.capture.read().unwrap_or_else(PoisonError::into_inner);
        if capture.is_some() {
            lock(&self.waiting).push(lender);
            return;
        }
        let followed = lender.follow();
        drop(capture);
        lender.give_back(followed);
    }

    /// Frees memory of a dropped handle, now or when the capture has ended.
    pub(crate) fn bury(&self, memory: impl Iterator<Item = Memory>) {
        let capture = self.capture.read().unwrap_or_else(PoisonError::into_inner);
        match &*capture {
            Some(_) => lock(&self.buried).extend(memory),
            None => memory.for_each(drop),
        }
    }
}

impl Capture {
    pub(super) fn lets_in(&self, handle: u64, operation: &'static str) -> Result<(), Error> {
        let is_here = self.thread == std::thread::current().id();
        let why = match (self.handle == handle, is_here) {
            (true, true) => return Ok(()),
            (true, false) => CaptureError::Thread,
            (false, _) => CaptureError::Shared,
        };
        let error = why.of(operation);
        if is_here {
            lock(&self.trouble).get_or_insert_with(|| error.clone());
        }
        Err(error)
    }
}
