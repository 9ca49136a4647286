//! Captures: streams that record a graph instead of working, and the calls forbidden meanwhile. A capture is of one stream.

use std::thread::{ThreadId, current};

use super::{
    Driver, Handle,
    graph::{Graph, Node},
    tell,
};
use crate::driver::code::{Code, Result};

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
    pub(crate) stream: Handle,
    mode: Mode,
    thread: ThreadId,
    nodes: Vec<Node>,
    is_invalid: bool,
}

impl Capture {
    pub(crate) fn status(&self) -> Status {
        if self.is_invalid { Status::Invalidated } else { Status::Active }
    }

    /// Returns true if this capture forbids such calls to the calling thread.
    fn forbids(&self) -> bool {
        let is_mine = self.thread == current().id();
        self.mode == Mode::Global || is_mine && self.mode != Mode::Relaxed
    }
}

impl Driver {
    pub(crate) fn begin_capture(&mut self, stream: Handle, mode: Mode) -> Result {
        let handle = self.stream(stream)?;
        let stream = self.streams.get(handle)?;
        if stream.is_legacy {
            return Err(Code::CaptureUnsupported);
        }
        if stream.capture.is_some() {
            return Err(Code::IllegalState);
        }
        let (thread, nodes) = (current().id(), Vec::new());
        let capture = Capture { stream: handle, mode, thread, nodes, is_invalid: false };
        self.streams.get_mut(handle)?.capture = Some(self.captures.insert(capture));
        Ok(())
    }

    /// Ends the capture and returns its graph. The stream captures no more, even if the capture was invalid.
    pub(crate) fn end_capture(&mut self, stream: Handle) -> Result<Handle> {
        let stream = self.stream(stream)?;
        let handle = self.streams.get(stream)?.capture.ok_or(Code::IllegalState)?;
        let capture = self.captures.get(handle)?;
        if capture.mode != Mode::Relaxed && capture.thread != current().id() {
            return Err(Code::CaptureWrongThread);
        }
        let capture = self.captures.remove(handle)?;
        self.streams.get_mut(stream)?.capture = None;
        if capture.is_invalid {
            return Err(Code::CaptureInvalidated);
        }
        Ok(self.graphs.insert(Graph { nodes: capture.nodes.into() }))
    }

    /// Adds work to the graph.
    pub(crate) fn record(&mut self, capture: Handle, work: Node) -> Result {
        let capture = self.captures.get_mut(capture)?;
        if capture.is_invalid {
            return Err(Code::CaptureInvalidated);
        }
        capture.nodes.push(work);
        Ok(())
    }

    /// Makes a stream wait for a captured event; for the capture's own stream it does nothing.
    pub(crate) fn join(&mut self, stream: Handle, capture: Handle) -> Result {
        if self.captures.get(capture).map_err(|_| Code::CapturedEvent)?.stream == stream {
            return Ok(());
        }
        tell("a capture over several streams, which is not supported");
        self.invalidate(capture);
        Err(Code::NotSupported)
    }

    /// Invalidates a capture: its stream accepts no more work, and ending it is an error.
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
