//! Values other than tensors that the kit exchanges with a subject.

use binade_core::{FoundInf, NamedGrads};
use binade_grad_scaler::{MergeRule, Norm, ScaleState, UpdateInputs};
use binade_master_weights::UpdateRule;

/// Set of gradients after unscaling.
#[derive(Clone, Debug)]
pub(crate) struct UnscaleResult<T> {
    pub(crate) grads: NamedGrads<T>,
    pub(crate) found: FoundInf,
}

/// Found-inf results of one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct IterationFindings {
    /// One for each pass over gradients.
    pub(crate) parts: Vec<PassFinding>,
    /// One for each optimizer step.
    pub(crate) verdicts: Vec<PassFinding>,
}

/// Found-inf result of one pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PassFinding {
    pub(crate) raised: bool,
    /// Largest finite |scaled gradient|, whether an overflow is there or not.
    pub(crate) magnitude: f32,
}

impl PassFinding {
    /// Creates a result whose largest finite gradient is 1.
    pub(crate) const fn new(raised: bool) -> Self {
        Self { raised, magnitude: 1.0 }
    }
}

impl IterationFindings {
    /// Returns the inputs of an update of the scale.
    pub(crate) fn seen(&self) -> UpdateInputs {
        let mut seen = UpdateInputs::default();
        for pass in self.parts.iter().chain(&self.verdicts) {
            seen.overflow |= pass.raised;
            seen.magnitude = seen.magnitude.max(pass.magnitude);
        }
        seen.skipped = self.verdicts.iter().any(|pass| pass.raised);
        seen
    }
}

/// One step of a training loop: gradients as backward left them, unscaled, checked and stepped.
#[derive(Clone, Debug)]
pub(crate) struct TrainStep<T> {
    pub(crate) rule: UpdateRule,
    pub(crate) grads: NamedGrads<T>,
    pub(crate) scale: ScaleState,
    /// Clipping of the unscaled gradients, if any.
    pub(crate) clip: Option<Clip>,
    /// Scaled gradients of another optimizer that steps together with this one: an overflow in either skips both.
    pub(crate) beside: Option<NamedGrads<T>>,
}

/// Clipping of unscaled gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Clip {
    /// All gradients together, to a norm of at most this.
    Norm(Norm, f32),
    /// Each element, to a magnitude of at most this.
    Value(f32),
}

/// One micro-batch of an accumulation window.
#[derive(Clone, Debug)]
pub(crate) struct MicroBatch<T> {
    pub(crate) grads: NamedGrads<T>,
    pub(crate) scale: ScaleState,
}

/// Found-inf results of two passes, and the joined result.
#[derive(Clone, Debug)]
pub(crate) struct MergeResult {
    pub(crate) joined: FoundInf,
    /// Clone of the first, made before it was joined into and read afterwards.
    pub(crate) into: FoundInf,
    /// The second, read afterwards.
    pub(crate) from: FoundInf,
}

/// One iteration of a run that stays on the device.
#[derive(Clone, Debug)]
pub(crate) struct Iteration<T> {
    /// Scaled gradients by pass. Each is unscaled by the scale of that time.
    pub(crate) parts: Vec<NamedGrads<T>>,
    /// Rule by which the passes' found-inf results are joined into the result of the iteration's step.
    pub(crate) join: MergeRule,
    /// True to keep a clone of the scale across the update.
    pub(crate) keep: bool,
}

/// State of an iteration, read after the last of its run.
#[derive(Clone, Debug)]
pub(crate) struct IterationResult {
    /// Scale before the update, if a clone was kept.
    pub(crate) before: Option<ScaleState>,
    pub(crate) parts: Vec<FoundInf>,
    pub(crate) verdict: Option<FoundInf>,
    /// True if the device reports, after all of this was read, that it can be read without waiting.
    pub(crate) ready: bool,
}

/// Run of the scale alone, read after its last iteration.
#[derive(Clone, Debug)]
pub(crate) struct ScaleTrace {
    pub(crate) stages: Vec<IterationResult>,
    pub(crate) scale: ScaleState,
}
