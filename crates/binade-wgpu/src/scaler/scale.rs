//! The scale on the device, and as the host knows it.

use super::report::Report;
use crate::{dispatch::structs::ScaleBits, memory::Buffer};
use binade_grad_scaler::{Averages, ScaleState};
use std::sync::Arc;

/// A scale on the device. A change is made in place unless a clone is alive, which keeps what it reads.
#[derive(Clone, Debug)]
pub struct Scale {
    pub(super) bits: Arc<Buffer>,
    /// Of the update that made it, on its way to the host.
    pub(super) report: Option<Arc<Report>>,
}

impl Scale {
    pub(super) fn new(bits: Buffer) -> Self {
        Self { bits: Arc::new(bits), report: None }
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
