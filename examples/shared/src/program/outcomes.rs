//! Outcomes of a run's steps.

use binade::grad_scaler::{ScaleState, Step};

/// Outcomes of a run's steps, and the loss scale that they moved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Counts of optimizer steps.
    pub steps: Steps,
    /// Loss scale before the first step and after each step whose outcome was resolved.
    pub scales: Vec<f32>,
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

impl Outcomes {
    /// Creates the record of a run whose loss scale begins at `scale`.
    pub fn from_scale(scale: f32) -> Self {
        Self { scales: vec![scale], ..Self::default() }
    }

    /// Records the outcome of a step.
    pub fn enter(&mut self, step: &Step) {
        let state = &step.report().scale;
        self.scales.push(state.factor());
        (self.steps.applied, self.steps.skipped) = (state.applied(), state.skipped);
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
    pub fn close(&mut self, state: &ScaleState) {
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
