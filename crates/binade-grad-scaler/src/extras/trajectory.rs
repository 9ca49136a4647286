//! A recording of a run's updates: the state after each, and which steps were skipped.

use crate::{ScaleState, Step, StepSummary};
use binade_core::OrderError;

/// Recording of a run's updates, in order: the scale after each and the steps that were skipped. Saved, and followed by another
/// run with [`ReplayScales`](crate::ReplayScales), so that both skip the same steps under the same scales.
///
/// # Examples
///
/// ```
/// use binade_grad_scaler::{ScaleState, Trajectory};
///
/// // `Trajectory::new(scaler.state()?)`, and then `trajectory.record(&scaler.update(step)?.resolve()?)?` in the loop.
/// let trajectory = Trajectory::new(ScaleState::from_exponent(16));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Trajectory {
    /// The state it starts in.
    pub start: ScaleState,
    /// Its updates, in order.
    pub updates: Vec<RecordedUpdate>,
}

/// One update.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RecordedUpdate {
    /// Its steps, in the order they were joined.
    pub steps: Vec<RecordedStep>,
    /// The state after it. The state before is the one after the update before, or the recording's first.
    pub after: ScaleState,
}

/// One optimizer's step.
#[derive(Clone, Debug, Eq, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RecordedStep {
    /// As [`named`](crate::UnscaledGrads::named).
    pub name: String,
    /// True if the step was skipped.
    pub skipped: bool,
    /// The micro-batches that its window left out, where it was applied all the same.
    pub left_out: Vec<String>,
}

impl Trajectory {
    /// Nothing yet: a run that starts in this state, which [`Scaler::state`](crate::Scaler::state) gives.
    pub fn new(start: ScaleState) -> Self {
        Self { start, updates: Vec::new() }
    }

    /// Adds what became of the next iteration.
    ///
    /// # Errors
    ///
    /// [`OrderError::OutOfOrder`] if an outcome was left out, is given twice, or belongs to another run; nothing is recorded then.
    pub fn record(&mut self, step: &Step) -> Result<(), OrderError> {
        let report = step.report();
        let (last, got) = (self.before(self.updates.len()).updates, report.scale.updates);
        if last.checked_add(1) != Some(got) {
            return Err(OrderError::OutOfOrder { last, got });
        }
        let steps = report.steps.iter().map(RecordedStep::of).collect();
        self.updates.push(RecordedUpdate { steps, after: report.scale });
        Ok(())
    }

    /// The state that the losses of update `index`, from 0, were scaled in; beyond the last update the one it ends in.
    pub(crate) fn before(&self, index: usize) -> ScaleState {
        let done = self.updates.get(..index).unwrap_or(&self.updates);
        done.last().map_or(self.start, |update| update.after)
    }
}

impl RecordedStep {
    pub(crate) fn of(step: &StepSummary) -> Self {
        let bad = step.parts.iter().filter(|part| part.finding.is_raised() && !step.skipped);
        let left_out = bad.map(|part| part.name.clone()).collect();
        Self { name: step.name.clone(), skipped: step.skipped, left_out }
    }
}
