//! A run that follows a recording, sentence by sentence of `Follow`'s documentation.

use super::scale_update::update;
use super::unscale::{Grads, unscale};
use binade_grad_scaler::{LossScale, ScaleState, Seen};

/// An update that was recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Whether its step was skipped.
    pub skipped: bool,
    /// The state after it.
    pub after: ScaleState,
}

/// What becomes of an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Walked {
    /// The scale that its loss is multiplied by.
    pub before: ScaleState,
    /// Whether its step is skipped.
    pub skipped: bool,
    /// Whether that is not what was recorded.
    pub parted: bool,
    /// The state after it.
    pub after: ScaleState,
}

/// A run from `start`, by `rule` where nothing is recorded.
pub fn follow(
    rule: &LossScale,
    start: ScaleState,
    recording: &[Recorded],
    run: &[Grads<'_>],
) -> Vec<Walked> {
    let mut before = start;
    let mut walked = Vec::new();
    for (index, grads) in run.iter().enumerate() {
        let factor = f64::from(before.significand) * 2.0_f64.powi(before.exponent);
        let found = unscale(grads, factor).1;
        let overflow = found.first.is_some();
        let step = if let Some(there) = recording.get(index) {
            // "A step that was skipped in the recording is skipped, whether or not it overflows in this run."
            let skipped = there.skipped || overflow;
            let parted = overflow && !there.skipped;
            Walked { before, skipped, parted, after: there.after }
        } else {
            // "After the last recorded update the run goes on by its own rule, from the state that the recording ends in."
            let skipped = overflow || before.diverged;
            let seen = Seen { overflow: skipped, skipped, magnitude: 0.0 };
            Walked { before, skipped, parted: false, after: update(rule, &before, seen) }
        };
        before = step.after;
        walked.push(step);
    }
    walked
}
