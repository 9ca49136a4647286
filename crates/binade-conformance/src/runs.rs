//! Values that the kit hands to a subject and takes from it, besides tensors.

use crate::Stored;
use binade_core::{FoundInf, Named, NamedGrads};
use binade_grad_scaler::{
    BadMicroBatch, DivergenceKind, LossScale, MergeRule, Norm, ScaleState, Step, StepSummary,
    Trajectory, UpdateInputs,
};
use binade_master_weights::UpdateRule;

/// Set of gradients after unscaling.
#[derive(Clone, Debug)]
pub struct UnscaleResult<T> {
    /// Gradients, divided, in `f32`.
    pub grads: NamedGrads<T>,
    /// Finding of the pass.
    pub found: FoundInf,
}

/// Findings of one iteration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IterationFindings {
    /// One for each pass over gradients.
    pub parts: Vec<PassFinding>,
    /// One for each optimizer step.
    pub verdicts: Vec<PassFinding>,
}

/// Finding of one pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassFinding {
    /// An overflow.
    pub raised: bool,
    /// Largest finite |scaled gradient|, beside the overflow where there is one.
    pub magnitude: f32,
}

impl PassFinding {
    /// Creates one whose largest finite gradient is 1.
    pub const fn new(raised: bool) -> Self {
        Self { raised, magnitude: 1.0 }
    }
}

impl IterationFindings {
    /// Returns the inputs of an update of the scale.
    pub fn seen(&self) -> UpdateInputs {
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
pub struct TrainStep<T> {
    /// Update rule of this step.
    pub rule: UpdateRule,
    /// Scaled gradients, by parameter.
    pub grads: NamedGrads<T>,
    /// Scale that they were made with.
    pub scale: ScaleState,
    /// Clipping of the unscaled gradients, if any.
    pub clip: Option<Clip>,
    /// Scaled gradients of another optimizer that steps together with this one: an overflow in either skips both.
    pub beside: Option<NamedGrads<T>>,
}

/// Clipping of unscaled gradients.
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
    /// Scale that they were made with.
    pub scale: ScaleState,
}

/// Findings of two passes, and what joining makes of them.
#[derive(Clone, Debug)]
pub struct MergeResult {
    /// The two, joined.
    pub joined: FoundInf,
    /// Clone of the first, made before it was joined into and read afterwards.
    pub into: FoundInf,
    /// The second, read afterwards.
    pub from: FoundInf,
}

/// One iteration of a run that stays on the device.
#[derive(Clone, Debug)]
pub struct Iteration<T> {
    /// Scaled gradients by pass, each unscaled by the scale that is in force by then.
    pub parts: Vec<NamedGrads<T>>,
    /// Rule by which the passes' findings become the one verdict of the iteration's step.
    pub join: MergeRule,
    /// True to keep a clone of the scale across the update.
    pub keep: bool,
}

/// State of an iteration, read after the last of its run.
#[derive(Clone, Debug)]
pub struct IterationResult {
    /// Scale before the update, where a clone was kept.
    pub before: Option<ScaleState>,
    /// Finding of each pass.
    pub parts: Vec<FoundInf>,
    /// Verdict, where there was a pass.
    pub verdict: Option<FoundInf>,
    /// True if the device says, once all of this was read, that it can be read without waiting.
    pub ready: bool,
}

/// Run of the scale alone, read after its last iteration.
#[derive(Clone, Debug)]
pub struct ScaleTrace {
    /// Results by iteration.
    pub stages: Vec<IterationResult>,
    /// Scale after the last.
    pub scale: ScaleState,
}

/// Run of plain steps with masters in `f32` copies, which records itself or replays a recording.
#[derive(Clone, Debug)]
pub struct ReplayedRun<T> {
    /// Rule of the scale.
    pub rule: LossScale,
    /// State of the scale in the beginning.
    pub start: ScaleState,
    /// Recording to replay; `None` where the run goes by its own rule.
    pub recording: Option<Trajectory>,
    /// Update rule of the parameters.
    pub update: UpdateRule,
    /// Parameters.
    pub params: Vec<Named<T>>,
    /// Loss, of any value.
    pub loss: T,
    /// Scaled gradients by iteration.
    pub iterations: Vec<NamedGrads<T>>,
}

/// Result of a [`ReplayedRun`], read after its last iteration.
#[derive(Clone, Debug)]
pub struct RunResult<T> {
    /// Parameters.
    pub params: Vec<Named<T>>,
    /// Outcome by iteration, and the divergence from the recording.
    pub steps: Vec<(Step, Option<DivergenceKind>)>,
    /// Recording that was replayed, or the run's own.
    pub recording: Trajectory,
}

/// Sparse gradient: coordinates that may repeat, and a row of elements for each.
#[derive(Clone, Debug)]
pub struct Coordinates {
    /// Sizes of the sparse dimensions.
    pub shape: Vec<usize>,
    /// Elements of one row.
    pub width: usize,
    /// By dimension, each entry's index in it.
    pub indices: Vec<Vec<usize>>,
    /// Rows, one after the other.
    pub values: Stored,
    /// Type in which rows of one coordinate are added up.
    pub coalesce: CoalesceType,
}

/// Type of the sum of rows of one coordinate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CoalesceType {
    /// Added in `f32`, and left there.
    InF32,
    /// Added in `f32`, and each sum rounded once to the type of the rows, as torch has them.
    InOwnType,
}

/// Losses whose gradients are unscaled once, at the end, by the scale that was in force when their window opened.
#[derive(Clone, Debug)]
pub struct DelayedRun<T> {
    /// State of the scaler when the window opens.
    pub start: ScaleState,
    /// One for each loss.
    pub passes: Vec<DelayedPass<T>>,
    /// Sums of the framework's own buffers, where it adds gradients up itself; `None` where the window does.
    pub buffers: Option<NamedGrads<T>>,
}

/// One loss of a [`DelayedRun`].
#[derive(Clone, Debug)]
pub struct DelayedPass<T> {
    /// Loss.
    pub loss: T,
    /// Its scaled gradients; of no use where the framework adds them up.
    pub grads: NamedGrads<T>,
    /// State that the scaler is put into after it, as the update of another loss would.
    pub moved: ScaleState,
}

/// Result of a [`DelayedRun`].
#[derive(Clone, Debug)]
pub struct DelayedResult<T> {
    /// Bits of each loss, scaled, in `f32`.
    pub losses: Vec<Vec<u8>>,
    /// Gradients that an optimizer was given.
    pub grads: NamedGrads<T>,
    /// Verdict of the step, and the finding of each pass.
    pub summary: StepSummary,
}

/// One iteration of two losses that have a scale each.
#[derive(Clone, Debug)]
pub struct LossPair<T> {
    /// Rule of both scales.
    pub rule: LossScale,
    /// State of the scale by loss.
    pub scales: [ScaleState; 2],
    /// Loss, of any value.
    pub loss: T,
    /// Gradients by loss, scaled by its own scale.
    pub grads: [NamedGrads<T>; 2],
    /// Place where they meet.
    pub meet: StepSharing,
}

/// Place where gradients of two losses meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepSharing {
    /// A window whose sum makes one step.
    Window {
        /// Rule for an overflow of one of them.
        bad: BadMicroBatch,
        /// Limit of the sum's norm, if any.
        max_norm: Option<f32>,
    },
    /// Nowhere: each makes a step of its own, and one iteration has both.
    Apart,
}
