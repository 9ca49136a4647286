//! What the kit hands to a subject and takes from it, besides tensors.

use binade_core::{Finding, NamedGrads};
use binade_grad_scaler::{Join, Norm, ScaleState, Seen};
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
    /// How they are clipped once unscaled, if at all.
    pub clip: Option<Clip>,
    /// Scaled gradients of another optimizer that steps together with this one: an overflow in either skips both.
    pub beside: Option<NamedGrads<T>>,
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

/// What two passes found, and what joining makes of it.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The two, joined.
    pub joined: Finding,
    /// What a clone of the first reads, made before it was joined into.
    pub into: Finding,
    /// What the second reads afterwards.
    pub from: Finding,
}

/// One iteration of a run that stays on the device.
#[derive(Clone, Debug)]
pub struct Iteration<T> {
    /// Scaled gradients by pass, each unscaled by the scale that is in force by then.
    pub parts: Vec<NamedGrads<T>>,
    /// How what the passes found becomes the one verdict that the iteration's step depends on.
    pub join: Join,
    /// Whether a clone of the scale is kept across the update.
    pub keep: bool,
}

/// What was read of an iteration after the last.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The scale before the update, where a clone was kept.
    pub before: Option<ScaleState>,
    /// What each pass found.
    pub parts: Vec<Finding>,
    /// The verdict, where there was a pass.
    pub verdict: Option<Finding>,
    /// Whether the device says, once all of this was read, that it can be read without waiting.
    pub ready: bool,
}

/// A run, read after its last iteration.
#[derive(Clone, Debug)]
pub struct Course {
    /// By iteration.
    pub stages: Vec<Stage>,
    /// The scale after the last.
    pub scale: ScaleState,
}
