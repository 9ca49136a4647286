//! What the kit hands to a subject that runs whole iterations by a scaler, and takes from it.

use crate::Stored;
use binade_core::{Named, NamedGrads};
use binade_grad_scaler::{
    BadMicroBatch, DivergenceKind, LossScale, ScaleState, Step, StepSummary, Trajectory,
};
use binade_master_weights::UpdateRule;

/// A sparse gradient: coordinates that may repeat, and a row of elements for each.
#[derive(Clone, Debug)]
pub struct Coordinates {
    /// The sizes of the sparse dimensions.
    pub shape: Vec<usize>,
    /// Elements of one row.
    pub width: usize,
    /// By dimension, each entry's index in it.
    pub indices: Vec<Vec<usize>>,
    /// One row after the other.
    pub values: Stored,
    /// How rows of one coordinate are added up.
    pub coalesce: Coalesce,
}

/// How rows of one coordinate become one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Coalesce {
    /// Added in `f32`, and left there.
    InF32,
    /// Added in `f32`, and each sum rounded once to the type of the rows, as torch has them.
    InOwnType,
}

/// Losses whose gradients are unscaled once, at the end, by the scale that was in force when their window opened.
#[derive(Clone, Debug)]
pub struct Delayed<T> {
    /// The state of the scaler when the window opens.
    pub start: ScaleState,
    /// One for each loss.
    pub passes: Vec<DelayedPass<T>>,
    /// What the framework's own buffers hold in the end, where it adds gradients up itself; `None` where the window does.
    pub buffers: Option<NamedGrads<T>>,
}

/// A loss of such a window.
#[derive(Clone, Debug)]
pub struct DelayedPass<T> {
    /// The loss.
    pub loss: T,
    /// Its scaled gradients; of no use where the framework adds them up.
    pub grads: NamedGrads<T>,
    /// The state that the scaler is put into after it, as the update of another loss would.
    pub moved: ScaleState,
}

/// What came of such a window.
#[derive(Clone, Debug)]
pub struct Collected<T> {
    /// The bits of each loss, scaled, in `f32`.
    pub losses: Vec<Vec<u8>>,
    /// What an optimizer was given.
    pub grads: NamedGrads<T>,
    /// What the step depended on, and what each pass found.
    pub summary: StepSummary,
}

/// A run of plain steps with masters in `f32` copies, which records itself or follows a recording.
#[derive(Clone, Debug)]
pub struct Led<T> {
    /// The scale's rule.
    pub rule: LossScale,
    /// The state of the scale in the beginning.
    pub start: ScaleState,
    /// What it follows; `None` where it goes by its own rule.
    pub recording: Option<Trajectory>,
    /// How parameters move.
    pub update: UpdateRule,
    /// The parameters.
    pub params: Vec<Named<T>>,
    /// A loss, of any value.
    pub loss: T,
    /// By iteration, scaled gradients.
    pub iterations: Vec<NamedGrads<T>>,
}

/// A run, read after its last iteration.
#[derive(Clone, Debug)]
pub struct Walked<T> {
    /// The parameters.
    pub params: Vec<Named<T>>,
    /// By iteration what became of it, and in what it parted from the recording.
    pub steps: Vec<(Step, Option<DivergenceKind>)>,
    /// The recording: the one that was followed, or its own.
    pub recording: Trajectory,
}

/// One iteration of two losses that have a scale each.
#[derive(Clone, Debug)]
pub struct Losses<T> {
    /// The rule of both scales.
    pub rule: LossScale,
    /// By loss, the state of its scale.
    pub scales: [ScaleState; 2],
    /// A loss, of any value.
    pub loss: T,
    /// By loss, its gradients, scaled by its own scale.
    pub grads: [NamedGrads<T>; 2],
    /// Where they meet.
    pub meet: Meet,
}

/// Where gradients of two losses meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meet {
    /// In a window whose sum makes one step.
    Window {
        /// What an overflow of one does to the sum.
        bad: BadMicroBatch,
        /// The limit of the sum's norm, if any.
        max_norm: Option<f32>,
    },
    /// Nowhere: each makes a step of its own, and one iteration has both.
    Apart,
}
