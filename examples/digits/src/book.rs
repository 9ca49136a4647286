//! Record of a run while it trains: losses, skips, scales, bytes.

use crate::args::Args;
use crate::config::Setting;
use crate::record::{Bytes, Run, Scale, Steps};
use binade::grad_scaler::{ScaleState, Step};
use binade::master_weights::Memory;
use indicatif::ProgressBar;

#[derive(Debug)]
pub(crate) struct Book {
    attempted: u64,
    losses: Vec<f32>,
    scale: Scale,
    activations_peak: u64,
    first_skip: Option<String>,
    diverged: Option<String>,
}

impl Book {
    pub(crate) fn new(first_scale: f32) -> Self {
        Self {
            attempted: 0,
            losses: Vec::new(),
            scale: Scale::starting_at(first_scale),
            activations_peak: 0,
            first_skip: None,
            diverged: None,
        }
    }

    pub(crate) fn begin_step(&mut self) {
        self.attempted += 1;
    }

    /// Returns the number of the current step, from 1.
    pub(crate) fn attempted(&self) -> u64 {
        self.attempted
    }

    pub(crate) fn see_activations(&mut self, bytes: u64) {
        self.activations_peak = self.activations_peak.max(bytes);
    }

    /// Records the outcome of a step.
    pub(crate) fn enter(&mut self, step: &Step) {
        self.scale.push(step.report().scale.factor());
        match step {
            Step::Skipped(report) if self.first_skip.is_none() => {
                self.first_skip = Some(report.to_string());
            }
            Step::Applied(report) if report.is_remarkable() => eprintln!("{report}"),
            Step::Applied(_) | Step::Skipped(_) => {}
            Step::Diverged(report) => self.diverged = Some(report.to_string()),
        }
    }

    /// Returns the state at a divergence that no resolved outcome reported.
    fn unseen_divergence(&self, state: &ScaleState) -> String {
        let (last, row, scale) = (self.attempted, state.bad_steps, state.factor());
        format!("step {last} skipped, {row} in a row; scale {scale}")
    }

    pub(crate) fn has_diverged(&self) -> bool {
        self.diverged.is_some()
    }

    #[expect(clippy::cast_precision_loss, reason = "a few hundred batches")]
    pub(crate) fn close_epoch(&mut self, total_loss: f32, batches: usize, bar: &ProgressBar) {
        let mean = total_loss / batches as f32;
        self.losses.push(mean);
        bar.set_message(format!("loss {mean:.4}"));
    }

    /// Returns the finished run, with accuracy and seconds at 0 and its data unnamed. `state` is the scaler's at the end, which
    /// tells what unresolved outcomes did not.
    pub(crate) fn into_run(
        mut self,
        args: &Args,
        setting: Setting,
        state: &ScaleState,
        memory: &Memory,
    ) -> Run {
        if self.scale.last != state.factor() {
            self.scale.push(state.factor());
        }
        let unseen = || state.diverged.then(|| self.unseen_divergence(state));
        let diverged = self.diverged.clone().or_else(unseen);
        Run {
            level: setting.0.to_string(),
            dtype: setting.1.to_string(),
            device: args.device.name(),
            seed: args.seed,
            epochs: args.epochs,
            final_loss: self.losses.last().copied().unwrap_or(f32::NAN),
            losses: self.losses,
            steps: Steps {
                attempted: self.attempted,
                applied: state.applied(),
                skipped: state.skipped,
            },
            scale: self.scale,
            bytes: Bytes {
                parameters: memory.parameters,
                masters: memory.masters,
                gradients: memory.gradients,
                optimizer: memory.optimizer,
                activations_peak: self.activations_peak,
            },
            first_skip: self.first_skip,
            diverged,
            ..Run::default()
        }
    }
}
