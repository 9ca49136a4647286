//! What the kit hands to a subject and takes from it, besides tensors.

use binade_core::{Finding, NamedGrads};
use binade_grad_scaler::{Norm, ScaleState, Seen};
use binade_master_weights::UpdateRule;

/// A set of gradients after unscaling.
#[derive(Clone, Debug)]
pub struct Unscaled<T> {
    /// The gradients, divided, in `f32`.
    pub grads: NamedGrads<T>,
    /// What the pass found.
    pub found: Finding,
}

/// What an iteration found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// One for each pass over gradients.
    pub parts: Vec<Pass>,
    /// One for each optimizer step.
    pub verdicts: Vec<Pass>,
}

/// What one pass found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// An overflow.
    pub raised: bool,
    /// The largest finite |scaled gradient|, beside the overflow where there is one.
    pub magnitude: f32,
}

impl Pass {
    /// One whose largest finite gradient is 1.
    pub const fn new(raised: bool) -> Self {
        Self { raised, magnitude: 1.0 }
    }
}

impl Round {
    /// What an update has to go by.
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for pass in self.parts.iter().chain(&self.verdicts) {
            seen.overflow |= pass.raised;
            seen.magnitude = seen.magnitude.max(pass.magnitude);
        }
        seen.skipped = self.verdicts.iter().any(|pass| pass.raised);
        seen
    }
}

/// One turn of a training loop: gradients as backward left them, unscaled, checked and stepped.
#[derive(Clone, Debug)]
pub struct Turn<T> {
    /// How parameters move in this turn.
    pub rule: UpdateRule,
    /// Scaled gradients, by parameter.
    pub grads: NamedGrads<T>,
    /// The scale that they were made with.
    pub scale: ScaleState,
}

/// How unscaled gradients are clipped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// All together, to a norm of at most this.
    Norm(Norm, f32),
    /// Each element, to a magnitude of at most this.
    Value(f32),
}

/// One micro-batch of an accumulation window.
#[derive(Clone, Debug)]
pub struct MicroBatch<T> {
    /// Scaled gradients, by parameter.
    pub grads: NamedGrads<T>,
    /// The scale that they were made with.
    pub scale: ScaleState,
}
