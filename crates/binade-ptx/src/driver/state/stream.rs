//! Streams. Work in a stream runs at once, except delayed uploads. Captured work is recorded.

use super::{Driver, Handle, capture::Status, graph::Node, tell};
use crate::driver::code::{Code, Result};

/// Handle `CU_STREAM_LEGACY`; handle 0 means the same, since this driver has no per-thread default streams.
const LEGACY: Handle = 1;
/// Flag `CU_STREAM_NON_BLOCKING`: the stream does not wait for the legacy stream.
const NON_BLOCKING: u32 = 1;

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Handle,
    pub(crate) is_legacy: bool,
    pub(crate) capture: Option<Handle>,
}

impl Driver {
    /// Creates a stream that does not wait for the legacy stream, as cudarc's all are.
    pub(crate) fn create_stream(&mut self, flags: u32) -> Result<Handle> {
        if flags != NON_BLOCKING {
            tell("a stream that waits for the default stream is not supported");
            return Err(Code::NotSupported);
        }
        let context = self.context()?;
        Ok(self.streams.insert(Stream { context, is_legacy: false, capture: None }))
    }

    pub(crate) fn destroy_stream(&mut self, handle: Handle) -> Result {
        let stream = self.streams.get(handle)?;
        self.unfaulted(stream.context)?;
        if stream.is_legacy {
            return Err(Code::InvalidHandle);
        }
        if let Some(capture) = stream.capture {
            self.invalidate(capture);
        }
        self.catch_up(handle);
        self.streams.delete(handle)
    }

    /// Returns the stream that a handle means, in a context without a fault.
    pub(crate) fn stream(&mut self, handle: Handle) -> Result<Handle> {
        let stream = if [0, LEGACY].contains(&handle) { self.legacy()? } else { handle };
        self.unfaulted(self.streams.get(stream)?.context)?;
        Ok(stream)
    }

    fn legacy(&mut self) -> Result<Handle> {
        let context = self.context()?;
        if let Some(stream) = self.contexts.get(context)?.legacy {
            return Ok(stream);
        }
        let stream = self.streams.insert(Stream { context, is_legacy: true, capture: None });
        self.contexts.get_mut(context)?.legacy = Some(stream);
        Ok(stream)
    }

    /// Puts work into a stream, from a thread whose context is alive and without a fault.
    pub(crate) fn enqueue(&mut self, stream: Handle, work: Node) -> Result {
        self.context()?;
        self.submit(stream, work)
    }

    /// Runs the work now, or adds it to the graph that the stream captures.
    pub(crate) fn submit(&mut self, stream: Handle, work: Node) -> Result {
        let stream = self.stream(stream)?;
        let Stream { capture, context, .. } = *self.streams.get(stream)?;
        self.catch_up(stream);
        match capture {
            Some(capture) => self.record(capture, work),
            None => self.run(context, &work),
        }
    }

    /// Waits for a stream, or asks for its completion: a stream that captures refuses both.
    pub(crate) fn synchronize(&mut self, stream: Handle) -> Result {
        let stream = self.stream(stream)?;
        if let Some(capture) = self.streams.get(stream)?.capture {
            self.invalidate(capture);
            return Err(Code::CaptureUnsupported);
        }
        self.catch_up_all();
        self.clock.wait_for_all();
        Ok(())
    }

    /// Waits for all streams of the context.
    pub(crate) fn synchronize_context(&mut self) -> Result {
        let context = self.context()?;
        let here = |stream: &&Stream| stream.context == context;
        let streams = self.streams.iter().map(|(_, stream)| stream).filter(here);
        let captures: Vec<Handle> = streams.filter_map(|stream| stream.capture).collect();
        for capture in &captures {
            self.invalidate(*capture);
        }
        if !captures.is_empty() {
            return Err(Code::CaptureUnsupported);
        }
        self.catch_up_all();
        self.clock.wait_for_all();
        Ok(())
    }

    /// Returns the status of a stream's capture.
    pub(crate) fn capture_of(&mut self, stream: Handle) -> Result<Status> {
        let stream = self.stream(stream)?;
        match self.streams.get(stream)?.capture {
            Some(capture) => Ok(self.captures.get(capture)?.status()),
            None => Ok(Status::None),
        }
    }

    pub(crate) fn stream_context(&mut self, stream: Handle) -> Result<Handle> {
        let stream = self.stream(stream)?;
        Ok(self.streams.get(stream)?.context)
    }
}
