//! Captures: streams that record a graph instead of working, and the calls forbidden meanwhile.
//!
//! The order among captured streams is kept as vector clocks: for each stream, how many works of every stream come before its
//! next work. A capture ends well if all works of all streams come before the next work of the stream that began it.

use std::{
    collections::BTreeMap,
    thread::{ThreadId, current},
};

use super::{
    Driver, Handle,
    graph::{Graph, Node},
    tell,
};
use crate::driver::code::{Code, Result};

/// Number of works by stream.
pub(crate) type Clock = BTreeMap<Handle, u64>;

/// C type `CUstreamCaptureMode`: the threads kept from calls that could disturb the capture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// Keeps all threads from such calls.
    Global,
    /// Keeps the capturing thread from such calls.
    ThreadLocal,
    /// Keeps no thread from such calls.
    Relaxed,
}

impl Mode {
    pub(crate) fn from_number(number: u32) -> Result<Self> {
        let modes = [Self::Global, Self::ThreadLocal, Self::Relaxed];
        modes.get(number as usize).copied().ok_or(Code::InvalidValue)
    }
}

/// C type `CUstreamCaptureStatus`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Status {
    None,
    Active,
    Invalidated,
}

#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) origin: Handle,
    mode: Mode,
    thread: ThreadId,
    nodes: Vec<Node>,
    clocks: BTreeMap<Handle, Clock>,
    is_invalid: bool,
}

impl Capture {
    pub(crate) fn status(&self) -> Status {
        if self.is_invalid { Status::Invalidated } else { Status::Active }
    }

    pub(crate) fn allocates(&self, address: u64) -> bool {
        self.nodes.iter().any(|node| matches!(node, Node::Allocate { at, .. } if *at == address))
    }

    /// Returns true if all work of all streams comes before the next work of the stream that began.
    fn is_joined(&self) -> bool {
        let mine = |clock: &Clock, stream| clock.get(&stream).copied().unwrap_or(0);
        let origin = self.clocks.get(&self.origin).cloned().unwrap_or_default();
        self.clocks.iter().all(|(stream, clock)| mine(&origin, *stream) >= mine(clock, *stream))
    }

    /// Returns true if this capture forbids such calls to the calling thread.
    fn forbids(&self) -> bool {
        let is_mine = self.thread == current().id();
        self.mode == Mode::Global || is_mine && self.mode != Mode::Relaxed
    }
}

impl Driver {
    pub(crate) fn begin_capture(&mut self, stream: Handle, mode: Mode) -> Result {
        let origin = self.stream(stream)?;
        let stream = self.streams.get(origin)?;
        if stream.is_legacy() {
            return Err(Code::CaptureUnsupported);
        }
        if stream.capture.is_some() {
            return Err(Code::IllegalState);
        }
        let clocks = BTreeMap::from([(origin, Clock::new())]);
        let (thread, nodes) = (current().id(), Vec::new());
        let capture = Capture { origin, mode, thread, nodes, clocks, is_invalid: false };
        self.streams.get_mut(origin)?.capture = Some(self.captures.insert(capture));
        Ok(())
    }

    /// Ends the capture and returns its graph. The streams capture no more, even if the capture was invalid or unjoined.
    pub(crate) fn end_capture(&mut self, stream: Handle) -> Result<Handle> {
        let stream = self.stream(stream)?;
        let handle = self.streams.get(stream)?.capture.ok_or(Code::IllegalState)?;
        let capture = self.captures.get(handle)?;
        if capture.origin != stream {
            return Err(Code::CaptureUnmatched);
        }
        if capture.mode != Mode::Relaxed && capture.thread != current().id() {
            return Err(Code::CaptureWrongThread);
        }
        let capture = self.captures.remove(handle)?;
        let captured = self.streams.values_mut().filter(|stream| stream.capture == Some(handle));
        captured.for_each(|stream| stream.capture = None);
        match (capture.is_invalid, capture.is_joined()) {
            (true, _) => Err(Code::CaptureInvalidated),
            (false, false) => Err(Code::CaptureUnjoined),
            (false, true) => Ok(self.graphs.insert(Graph { nodes: capture.nodes.into() })),
        }
    }

    /// Adds work to the graph.
    pub(crate) fn record(&mut self, capture: Handle, stream: Handle, work: Node) -> Result {
        let capture = self.valid(capture)?;
        capture.nodes.push(work);
        *capture.clocks.entry(stream).or_default().entry(stream).or_default() += 1;
        Ok(())
    }

    fn valid(&mut self, capture: Handle) -> Result<&mut Capture> {
        let capture = self.captures.get_mut(capture)?;
        if capture.is_invalid { Err(Code::CaptureInvalidated) } else { Ok(capture) }
    }

    /// Returns the works that come before a stream's next work.
    pub(crate) fn clock(&mut self, capture: Handle, stream: Handle) -> Result<Clock> {
        Ok(self.valid(capture)?.clocks.get(&stream).cloned().unwrap_or_default())
    }

    /// Makes a stream wait for a captured event, which draws it into the capture.
    pub(crate) fn join(&mut self, stream: Handle, capture: Handle, clock: &Clock) -> Result {
        if self.captures.get(capture).is_err() {
            return Err(Code::CapturedEvent);
        }
        let waiting = self.streams.get(stream)?;
        if waiting.is_legacy() {
            self.invalidate(capture);
            return Err(Code::CaptureImplicit);
        }
        let origin = self.streams.get(self.captures.get(capture)?.origin)?.context;
        if self.device_of(waiting.context)? != self.device_of(origin)? {
            tell("a capture over several devices, which is not supported");
            self.invalidate(capture);
            return Err(Code::NotSupported);
        }
        if let Some(other) = waiting.capture.filter(|other| *other != capture) {
            self.invalidate(capture);
            self.invalidate(other);
            return Err(Code::CaptureMerge);
        }
        let mine = self.valid(capture)?.clocks.entry(stream).or_default();
        for (other, work) in clock {
            let known = mine.entry(*other).or_default();
            *known = (*known).max(*work);
        }
        self.streams.get_mut(stream)?.capture = Some(capture);
        Ok(())
    }

    /// Invalidates a capture: its streams take no more work, and its end is an error.
    pub(crate) fn invalidate(&mut self, capture: Handle) {
        if let Ok(capture) = self.captures.get_mut(capture) {
            capture.is_invalid = true;
        }
    }

    /// Refuses a call that could disturb a capture, such as taking memory, and invalidates the captures that forbid it.
    pub(crate) fn refuse_while_capturing(&mut self) -> Result {
        let mut outcome = Ok(());
        for capture in self.captures.values_mut().filter(|capture| capture.forbids()) {
            capture.is_invalid = true;
            outcome = Err(Code::CaptureUnsupported);
        }
        outcome
    }
}
