//! Events: moments in a stream, or places in the graph of a capture.

use super::{Driver, Handle, capture::Clock};
use crate::driver::code::{Code, Result};

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    recorded: Recorded,
}

/// Place where an event was last recorded.
#[derive(Clone, Debug)]
enum Recorded {
    Never,
    /// Behind work that is done.
    Done,
    /// Place in a capture: behind the works that the clock counts.
    Captured(Handle, Clock),
}

impl Driver {
    pub(crate) fn create_event(&mut self, flags: u32) -> Result<Handle> {
        if flags & !7 != 0 {
            return Err(Code::InvalidValue);
        }
        let context = self.context()?;
        Ok(self.events.insert(Event { context, recorded: Recorded::Never }))
    }

    pub(crate) fn destroy_event(&mut self, event: Handle) -> Result {
        self.event(event)?;
        self.events.delete(event)
    }

    fn event(&self, event: Handle) -> Result<&Event> {
        let event = self.events.get(event)?;
        self.unfaulted(event.context)?;
        Ok(event)
    }

    pub(crate) fn record_event(&mut self, event: Handle, stream: Handle) -> Result {
        let context = self.event(event)?.context;
        let stream = self.stream(stream)?;
        if self.streams.get(stream)?.context != context {
            return Err(Code::InvalidHandle);
        }
        let recorded = if let Some(capture) = self.streams.get(stream)?.capture {
            Recorded::Captured(capture, self.clock(capture, stream)?)
        } else {
            self.refuse_implicit(stream)?;
            Recorded::Done
        };
        self.events.get_mut(event)?.recorded = recorded;
        Ok(())
    }

    /// Makes a stream wait for an event. Work is done when its call returns, so only captures have anything to wait for.
    pub(crate) fn wait_event(&mut self, stream: Handle, event: Handle) -> Result {
        let recorded = self.event(event)?.recorded.clone();
        let stream = self.stream(stream)?;
        let capturing = self.streams.get(stream)?.capture;
        match (recorded, capturing) {
            (Recorded::Captured(capture, clock), _) => self.join(stream, capture, &clock),
            // The event is of work outside the capture.
            (Recorded::Done, Some(capture)) => {
                self.invalidate(capture);
                Err(Code::CaptureIsolation)
            }
            // "If cuEventRecord() has not been called on hEvent, this call […] is a functional no-op" (CUDA driver API).
            (Recorded::Done, None) | (Recorded::Never, _) => Ok(()),
        }
    }

    /// Waits for an event on the host.
    pub(crate) fn synchronize_event(&mut self, event: Handle) -> Result {
        match self.event(event)?.recorded {
            Recorded::Captured(capture, _) => {
                self.invalidate(capture);
                Err(Code::CapturedEvent)
            }
            _ => Ok(()),
        }
    }

    /// Asks for an event's completion. A capture that CUDA would have to interrupt forbids it.
    pub(crate) fn query_event(&mut self, event: Handle) -> Result {
        self.synchronize_event(event)?;
        self.refuse_while_capturing()
    }
}
