//! The scale on the device, and as the host knows it.

use super::report::Report;
use crate::{launch::structs::ScaleBits, memory::Buffer};
use std::sync::Arc;

/// A scale on the device. A change is made in place unless a clone is alive, which keeps what it reads.
#[derive(Debug)]
pub struct Scale {
    pub(super) bits: Arc<Buffer>,
    /// Of the update that made it, on its way to the host.
    pub(super) report: Option<Arc<Report>>,
    /// Shared with clones that keep what they read.
    pub(super) readers: Arc<()>,
    /// Whether it is a clone of a captured run's.
    is_replayed: bool,
    /// Not of clones: a captured step asks whether the scale that it moves is still anybody's.
    pub(super) original: Option<Arc<()>>,
}

impl Clone for Scale {
    /// Of a scale that replays move, what the latest has reported stays with the clone. One that is made within a captured
    /// run, or of such a one, is moved with each replay, and hinders nobody else from moving it.
    fn clone(&self) -> Self {
        let report = self.report.as_ref().map(Report::frozen);
        let is_captured = self.bits.pool().state.running() == Some(true) || self.is_replayed;
        let readers = if is_captured { Arc::default() } else { self.readers.clone() };
        let bits = self.bits.clone();
        Self { bits, report, readers, is_replayed: is_captured, original: None }
    }
}

impl Scale {
    pub(super) fn new(bits: Buffer) -> Self {
        Self {
            bits: Arc::new(bits),
            report: None,
            readers: Arc::default(),
            is_replayed: false,
            original: Some(Arc::default()),
        }
    }

    /// Goes on elsewhere: those who read it stay.
    pub(super) fn move_to(&mut self, bits: Buffer) {
        (self.bits, self.readers) = (Arc::new(bits), Arc::default());
    }

    /// Where the scale's factor is.
    pub(super) fn factor(&self) -> u64 {
        self.bits.address() + std::mem::offset_of!(ScaleBits, factor) as u64
    }

    /// Where its inverse is.
    pub(super) fn inverse(&self) -> u64 {
        self.bits.address() + std::mem::offset_of!(ScaleBits, inverse) as u64
    }
}
