//! Figures of the runs.

use crate::data::Source;
use binade::grad_scaler::{ScaleState, Step};
use binade::master_weights::Memory;

/// Run of one level in one low type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Level, `O0` to `O3`.
    pub level: String,
    /// Low type; `f32` at O0.
    pub dtype: String,
    /// Number of test images classified right.
    pub right: usize,
    /// Mean training loss of each epoch.
    pub losses: Vec<f32>,
    /// Counts of optimizer steps.
    pub steps: Steps,
    /// Loss scale before the first step and after each step whose outcome was resolved.
    pub scales: Vec<f32>,
    /// Bytes of training state; of gradients with the `f32` sum of a window of several micro-batches.
    pub bytes: Memory,
    /// Most bytes that backward keeps of one micro-batch.
    pub activations_peak: u64,
    /// Seconds of training and test.
    pub seconds: f64,
    /// Source of the images.
    pub data: Source,
    /// First skip's report, in words.
    pub first_skip: Option<String>,
    /// Message of a run that ended early.
    pub diverged: Option<String>,
}

/// Counts of optimizer steps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Steps {
    /// Steps begun.
    pub attempted: u64,
    /// Steps that moved parameters.
    pub applied: u64,
    /// Steps that changed nothing.
    pub skipped: u64,
}

impl Run {
    /// Returns the share of the test images classified right, 0 to 1.
    pub fn accuracy(&self) -> f32 {
        share(self.right, self.data.test)
    }

    /// Returns the mean training loss of the last whole epoch; NaN if there was none.
    pub fn final_loss(&self) -> f32 {
        self.losses.last().copied().unwrap_or(f32::NAN)
    }

    /// Records the outcome of a step.
    pub(crate) fn enter(&mut self, step: &Step) {
        self.scales.push(step.report().scale.factor());
        match step {
            Step::Skipped(report) if self.first_skip.is_none() => {
                self.first_skip = Some(report.to_string());
            }
            Step::Applied(report) if report.is_remarkable() => eprintln!("{report}"),
            Step::Applied(_) | Step::Skipped(_) => {}
            Step::Diverged(report) => self.diverged = Some(report.to_string()),
        }
    }

    /// Records the scaler's state at the end, which tells what unresolved outcomes did not.
    pub(crate) fn close(&mut self, state: &ScaleState) {
        if self.scales.last() != Some(&state.factor()) {
            self.scales.push(state.factor());
        }
        (self.steps.applied, self.steps.skipped) = (state.applied(), state.skipped);
        if state.diverged && self.diverged.is_none() {
            let (last, row, scale) = (self.steps.attempted, state.bad_steps, state.factor());
            self.diverged = Some(format!("step {last} skipped, {row} in a row; scale {scale}"));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "0 to a few thousand")]
pub(crate) fn share(images: usize, tested: usize) -> f32 {
    images as f32 / tested as f32
}
