//! Clock of events: how far the device is behind the host. Work is done when its call returns, and only events tell that it is late.

use super::Driver;
use crate::driver::host::HostSpan;
use std::time::{Duration, Instant};

/// Bytes of pageable memory that `cuMemcpyHtoDAsync` takes without waiting ("API synchronization behavior", CUDA driver API).
const TAKEN_AT_ONCE: usize = 64 << 10;

/// Clock that ticks whenever an event is recorded.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Number of later events that are recorded before the device comes to one by itself.
    lag: u64,
    recorded: u64,
    /// Number of the latest event that the host has waited for.
    waited: u64,
    /// Simulated working time of the device, in addition to the time that has passed.
    spent: Duration,
}

impl Clock {
    pub(crate) fn new(lag: u64) -> Self {
        Self { lag, recorded: 0, waited: 0, spent: Duration::ZERO }
    }

    /// Returns the time on the clock.
    pub(crate) fn now(&self) -> Instant {
        Instant::now() + self.spent
    }

    /// Adds time that the device is said to have worked.
    pub(crate) fn spend(&mut self, time: Duration) {
        self.spent += time;
    }

    /// Returns the number of the next event.
    pub(crate) fn tick(&mut self) -> u64 {
        self.recorded += 1;
        self.recorded
    }

    pub(crate) fn is_past(&self, event: u64) -> bool {
        event <= self.waited || event + self.lag <= self.recorded
    }

    /// Notes that the host has waited for an event, and so for all before it.
    pub(crate) fn wait(&mut self, event: u64) {
        self.waited = self.waited.max(event);
    }

    pub(crate) fn wait_for_all(&mut self) {
        self.waited = self.recorded;
    }
}

impl Driver {
    /// Waits like a copy to the device: for all earlier work, if its source is pageable and too large to be taken at once.
    pub(crate) fn wait_to_upload(&mut self, from: &HostSpan) {
        if from.bytes() > TAKEN_AT_ONCE && !self.is_pinned(from) {
            self.clock.wait_for_all();
        }
    }

    /// Waits as a copy to the host does: for all before it and for itself, if its target is pageable.
    pub(crate) fn wait_to_download(&mut self, to: &HostSpan) {
        if !self.is_pinned(to) {
            self.clock.wait_for_all();
        }
    }

    pub(crate) fn is_pinned(&self, span: &HostSpan) -> bool {
        let before = self.pinned.range(..=span.address()).next_back();
        before.is_some_and(|(start, pages)| {
            span.address() + span.bytes() <= start + size_of_val(pages.as_slice())
        })
    }
}
