//! Events: moments in a stream, or places in the graph of a capture.

use std::time::Instant;

use super::{Driver, Handle};
use crate::driver::code::{Code, Result};

/// Flag `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: u32 = 2;

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) context: Handle,
    has_time: bool,
    recorded: Recorded,
}

/// Place where an event was last recorded.
#[derive(Clone, Copy, Debug)]
enum Recorded {
    Never,
    /// Time, number on the clock, and stream, which may be late.
    At(Instant, u64, Handle),
    /// Place in a capture.
    Captured(Handle),
}

impl Driver {
    pub(crate) fn create_event(&mut self, flags: u32) -> Result<Handle> {
        if flags & !7 != 0 {
            return Err(Code::InvalidValue);
        }
        let context = self.context()?;
        let has_time = flags & DISABLE_TIMING == 0;
        Ok(self.events.insert(Event { context, has_time, recorded: Recorded::Never }))
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
        let capture = self.streams.get(stream)?.capture;
        self.events.get_mut(event)?.recorded = match capture {
            Some(capture) => Recorded::Captured(capture),
            None => Recorded::At(self.clock.now(), self.clock.tick(), stream),
        };
        Ok(())
    }

    /// Makes a stream wait for an event. Work is done when its call returns, so only captures and late uploads are waited for.
    pub(crate) fn wait_event(&mut self, stream: Handle, event: Handle) -> Result {
        let recorded = self.event(event)?.recorded;
        let stream = self.stream(stream)?;
        let capturing = self.streams.get(stream)?.capture;
        match (recorded, capturing) {
            (Recorded::Captured(capture), _) => self.join(stream, capture),
            // The event is of work outside the capture.
            (Recorded::At(..), Some(capture)) => {
                self.invalidate(capture);
                Err(Code::CaptureIsolation)
            }
            (Recorded::At(_, _, other), None) => {
                self.catch_up(other);
                Ok(())
            }
            // "If cuEventRecord() has not been called on hEvent, this call […] is a functional no-op" (CUDA driver API).
            (Recorded::Never, _) => Ok(()),
        }
    }

    /// Waits for an event on the host.
    pub(crate) fn synchronize_event(&mut self, event: Handle) -> Result {
        match self.event(event)?.recorded {
            Recorded::Captured(capture) => {
                self.invalidate(capture);
                Err(Code::CapturedEvent)
            }
            Recorded::At(_, number, _) => {
                self.catch_up_all();
                self.clock.wait(number);
                Ok(())
            }
            Recorded::Never => Ok(()),
        }
    }

    /// Asks for an event's completion. A capture that CUDA would have to interrupt forbids it.
    pub(crate) fn query_event(&mut self, event: Handle) -> Result {
        let number = match self.event(event)?.recorded {
            Recorded::At(_, number, _) => number,
            Recorded::Never => 0,
            Recorded::Captured(_) => return self.synchronize_event(event),
        };
        self.refuse_while_capturing()?;
        if !self.clock.is_past(number) {
            return Err(Code::NotReady);
        }
        self.catch_up_all();
        Ok(())
    }

    /// Returns the milliseconds between two events.
    pub(crate) fn elapsed(&self, from: Handle, to: Handle) -> Result<f32> {
        let (from, to) = (self.event(from)?, self.event(to)?);
        if from.context != to.context {
            return Err(Code::InvalidHandle);
        }
        let (from, to) = (from.moment()?, to.moment()?);
        let seconds = match to.checked_duration_since(from) {
            Some(after) => after.as_secs_f32(),
            None => -from.duration_since(to).as_secs_f32(),
        };
        Ok(seconds * 1e3)
    }
}

impl Event {
    fn moment(&self) -> Result<Instant> {
        match self.recorded {
            Recorded::At(at, ..) if self.has_time => Ok(at),
            Recorded::Captured(_) => Err(Code::CapturedEvent),
            _ => Err(Code::InvalidHandle),
        }
    }
}
