//! Figures of the runs.

use crate::data::Source;

/// Run of one level in one low type.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Level, `O0` to `O3`.
    pub level: String,
    /// Low type; `f32` at O0.
    pub dtype: String,
    /// Name of the device.
    pub device: String,
    /// Seed of the run.
    pub seed: u64,
    /// Passes over the training images.
    pub epochs: u32,
    /// Share of the test images classified right, 0 to 1.
    pub accuracy: f32,
    /// Mean training loss of the last whole epoch; NaN if there was none.
    pub final_loss: f32,
    /// Mean training loss of each epoch.
    pub losses: Vec<f32>,
    /// Counts of optimizer steps.
    pub steps: Steps,
    /// History of the loss scale.
    pub scale: Scale,
    /// Bytes of training state.
    pub bytes: Bytes,
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

/// History of the loss scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// Scale before the first step.
    pub initial: f32,
    /// Scale after the last step.
    pub last: f32,
    /// Lowest scale.
    pub min: f32,
    /// Highest scale.
    pub max: f32,
    /// Scale after each step whose outcome was resolved.
    pub history: Vec<f32>,
}

impl Scale {
    /// Creates the history before the first step.
    pub fn starting_at(scale: f32) -> Self {
        Self { initial: scale, last: scale, min: scale, max: scale, history: Vec::new() }
    }

    /// Adds the scale after one more step.
    pub fn push(&mut self, scale: f32) {
        self.last = scale;
        self.min = self.min.min(scale);
        self.max = self.max.max(scale);
        self.history.push(scale);
    }
}

/// Bytes of training state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bytes {
    /// Bytes of the parameters that the model computes with.
    pub parameters: u64,
    /// Bytes of `f32` copies of low-precision parameters.
    pub masters: u64,
    /// Bytes of gradients as backward leaves them, and of the `f32` sum of a window of several micro-batches.
    pub gradients: u64,
    /// Bytes of the moments.
    pub optimizer: u64,
    /// Most bytes that backward keeps of one micro-batch.
    pub activations_peak: u64,
}
