//! The scale on the device, and as the host knows it.

use super::report::Report;
use crate::{launch::structs::ScaleBits, memory::Buffer};
use binade_grad_scaler::{Averages, ScaleState};
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
        let is_captured = self.bits.is_captured() || self.is_replayed;
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

/// As the device keeps it.
pub(super) fn to_bits(state: ScaleState) -> ScaleBits {
    ScaleBits {
        factor: state.factor(),
        inverse: state.inverse(),
        significand: state.significand,
        exponent: state.exponent,
        before: state.before,
        good_steps: state.good_steps,
        bad_steps: state.bad_steps,
        diverged: u32::from(state.diverged),
        updates: state.updates,
        overflows: state.overflows,
        skipped: state.skipped,
        tolerated: state.tolerated,
        since_move: state.since_move,
        mean: state.averages.mean,
        slow_mean: state.averages.slow_mean,
        square: state.averages.square,
        taken: state.averages.taken,
        slow_taken: state.averages.slow_taken,
    }
}

/// As the host knows it.
pub(super) fn from_bits(bits: &ScaleBits) -> ScaleState {
    ScaleState {
        significand: bits.significand,
        exponent: bits.exponent,
        before: bits.before,
        good_steps: bits.good_steps,
        bad_steps: bits.bad_steps,
        updates: bits.updates,
        overflows: bits.overflows,
        skipped: bits.skipped,
        diverged: bits.diverged != 0,
        tolerated: bits.tolerated,
        since_move: bits.since_move,
        averages: Averages {
            mean: bits.mean,
            slow_mean: bits.slow_mean,
            square: bits.square,
            taken: bits.taken,
            slow_taken: bits.slow_taken,
        },
    }
}
