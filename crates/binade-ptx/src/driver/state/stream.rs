//! Streams. Work in them runs at once, so waiting finds it done. Captures, and the order they imply among streams, are kept.

use std::thread::{ThreadId, current};

use super::{Driver, Handle, capture::Status, graph::Node};
use crate::driver::code::{Code, Result};

/// Handle `CU_STREAM_LEGACY`; handle 0 means the same, since this driver has no per-thread default streams.
const LEGACY: Handle = 1;
/// Handle `CU_STREAM_PER_THREAD`.
const PER_THREAD: Handle = 2;
/// Flag `CU_STREAM_NON_BLOCKING`: the stream does not wait for the legacy stream.
const NON_BLOCKING: u32 = 1;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Legacy,
    PerThread(ThreadId),
    Made,
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) context: Handle,
    kind: Kind,
    pub(crate) flags: u32,
    pub(crate) capture: Option<Handle>,
}

impl Stream {
    fn new(context: Handle, kind: Kind) -> Self {
        Self { context, kind, flags: 0, capture: None }
    }

    pub(crate) fn is_legacy(&self) -> bool {
        self.kind == Kind::Legacy
    }

    fn is_blocking(&self) -> bool {
        self.flags & NON_BLOCKING == 0
    }
}

impl Driver {
    pub(crate) fn create_stream(&mut self, flags: u32) -> Result<Handle> {
        if flags & !NON_BLOCKING != 0 {
            return Err(Code::InvalidValue);
        }
        let made = Stream::new(self.context()?, Kind::Made);
        Ok(self.streams.insert(Stream { flags, ..made }))
    }

    pub(crate) fn destroy_stream(&mut self, handle: Handle) -> Result {
        let stream = self.streams.get(handle)?;
        self.unfaulted(stream.context)?;
        if stream.kind != Kind::Made {
            return Err(Code::InvalidHandle);
        }
        if let Some(capture) = stream.capture {
            self.invalidate(capture);
        }
        self.streams.delete(handle)
    }

    /// Returns the stream that a handle means, in a context without a fault.
    pub(crate) fn stream(&mut self, handle: Handle) -> Result<Handle> {
        let stream = match handle {
            0 | LEGACY => self.legacy()?,
            PER_THREAD => self.per_thread()?,
            made => made,
        };
        self.unfaulted(self.streams.get(stream)?.context)?;
        Ok(stream)
    }

    fn legacy(&mut self) -> Result<Handle> {
        let context = self.context()?;
        if let Some(stream) = self.contexts.get(context)?.legacy {
            return Ok(stream);
        }
        let stream = self.streams.insert(Stream::new(context, Kind::Legacy));
        self.contexts.get_mut(context)?.legacy = Some(stream);
        Ok(stream)
    }

    fn per_thread(&mut self) -> Result<Handle> {
        let (context, kind) = (self.context()?, Kind::PerThread(current().id()));
        let is_mine = |stream: &Stream| stream.context == context && stream.kind == kind;
        let mine = self.streams.iter().find(|(_, stream)| is_mine(stream));
        let mine = mine.map(|(handle, _)| handle);
        Ok(mine.unwrap_or_else(|| self.streams.insert(Stream::new(context, kind))))
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
        if let Some(capture) = capture {
            return self.record(capture, stream, work);
        }
        self.refuse_implicit(stream)?;
        self.run(context, &work)
    }

    /// Refuses work in the legacy stream while a blocking stream captures: the legacy stream waits for every blocking stream, and
    /// no call can wait for one that captures.
    pub(crate) fn refuse_implicit(&mut self, stream: Handle) -> Result {
        match self.captured_behind(stream)? {
            Some(capture) => {
                self.invalidate(capture);
                Err(Code::CaptureImplicit)
            }
            None => Ok(()),
        }
    }

    fn captured_behind(&self, stream: Handle) -> Result<Option<Handle>> {
        let stream = self.streams.get(stream)?;
        let mut others =
            self.streams.iter().map(|(_, other)| other).filter(|other| other.is_blocking());
        let captured =
            others.find(|other| other.context == stream.context && other.capture.is_some());
        Ok(captured.and_then(|other| other.capture).filter(|_| stream.is_legacy()))
    }

    /// Waits for a stream, or asks for its completion: a stream that captures refuses both.
    pub(crate) fn synchronize(&mut self, stream: Handle) -> Result {
        let stream = self.stream(stream)?;
        if let Some(capture) = self.streams.get(stream)?.capture {
            self.invalidate(capture);
            return Err(Code::CaptureUnsupported);
        }
        self.refuse_implicit(stream)
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
        if captures.is_empty() { Ok(()) } else { Err(Code::CaptureUnsupported) }
    }

    /// Returns the status of a stream's capture.
    pub(crate) fn capture_of(&mut self, stream: Handle) -> Result<Status> {
        let stream = self.stream(stream)?;
        if self.captured_behind(stream)?.is_some() {
            return Err(Code::CaptureImplicit);
        }
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
