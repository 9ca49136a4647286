//! Optimizer steps whose scale update is due.

use super::iterations::{Iterations, Origin};
use crate::ScaleStore;
use std::sync::Arc;

/// The part that is a window's sum.
pub(crate) const SUM: &str = "sum";

/// Finding of one pass over gradients: a whole batch, or one micro-batch of a window.
pub(crate) struct Part<D: ScaleStore> {
    pub(crate) name: String,
    pub(crate) found: D::Found,
    /// The scale that the gradients were made with; `None` for a sum, which is everyone's.
    pub(crate) of: Option<Origin>,
    /// True if its overflow skips the step, rather than leaving itself out.
    pub(crate) skips: bool,
}

/// One optimizer step: what it was made of, and what it depended on.
pub(crate) struct StepRecord<D: ScaleStore> {
    pub(crate) name: String,
    /// The scale that the gradients, or the last of them, were made with.
    pub(crate) of: Origin,
    /// Empty where the verdict is what the one pass found.
    pub(crate) parts: Vec<Part<D>>,
    pub(crate) verdict: D::Found,
    /// True if the norm in the verdict is this step's.
    pub(crate) measured: bool,
    /// True once an update has taken it: dropping it is then no mistake.
    pub(crate) settled: bool,
    /// The scaler's. One that is held counts as under way.
    pub(crate) iterations: Arc<Iterations>,
}

impl<D: ScaleStore> Drop for StepRecord<D> {
    fn drop(&mut self) {
        if !self.settled {
            self.iterations.note_dropped(&self.name, self.of.iteration);
        }
    }
}

impl<D: ScaleStore> StepRecord<D> {
    fn uncounted(&self) -> Self {
        let part = |Part { name, found, of, skips }: &Part<D>| Part {
            name: name.clone(),
            found: found.clone(),
            of: *of,
            skips: *skips,
        };
        Self {
            name: self.name.clone(),
            of: self.of,
            parts: self.parts.iter().map(part).collect(),
            verdict: self.verdict.clone(),
            measured: self.measured,
            settled: true,
            iterations: Arc::new(Iterations::new()),
        }
    }
}

/// One or more optimizer steps whose scale update is due.
#[must_use = "the scale does not move until this reaches `Scaler::update`"]
pub struct PendingStep<D: ScaleStore> {
    pub(crate) steps: Vec<StepRecord<D>>,
}

impl<D: ScaleStore> PendingStep<D> {
    pub(crate) fn new(step: StepRecord<D>) -> Self {
        Self { steps: vec![step] }
    }

    /// Both steps as one iteration, for one update.
    pub fn and(mut self, other: Self) -> Self {
        self.steps.extend(other.steps);
        self
    }

    /// Drops the step on purpose, where an iteration is given up: what it found moves no scale, and nobody is told.
    pub fn abandon(mut self) {
        self.settle();
    }

    /// Says that an update has taken it.
    pub(crate) fn settle(&mut self) {
        self.steps.iter_mut().for_each(|step| step.settled = true);
    }

    /// Returns a copy that does not count as under way.
    pub(crate) fn uncounted(&self) -> Self {
        Self { steps: self.steps.iter().map(StepRecord::uncounted).collect() }
    }

    pub(crate) fn parts(&self) -> Vec<&D::Found> {
        self.steps.iter().flat_map(|step| &step.parts).map(|part| &part.found).collect()
    }

    pub(crate) fn verdicts(&self) -> Vec<&D::Found> {
        self.steps.iter().map(|step| &step.verdict).collect()
    }
}
