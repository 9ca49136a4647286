//! What a run leaves behind, as `--json` writes it.

use crate::data::Source;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Everything that was run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Record {
    /// In the order of the table.
    pub runs: Vec<Run>,
}

/// The record could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; give --json a file in a folder that is there", path.display())]
pub struct WriteError {
    /// Where to.
    pub path: PathBuf,
    source: io::Error,
}

impl Record {
    /// Writes everything so far to `path`, in place of what is there. What is no number is null, as JSON has it.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WriteError> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let written = text.and_then(|text| std::fs::write(path, text + "\n"));
        written.map_err(|source| WriteError { path: path.to_owned(), source })
    }
}

/// One level in one low type.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// `O0` to `O3`.
    pub level: String,
    /// The low type; `f32` at O0.
    pub dtype: String,
    /// Where it ran.
    pub device: String,
    /// What it started from.
    pub seed: u64,
    /// Passes over the training images.
    pub epochs: u32,
    /// Of the test images, 0 to 1.
    pub accuracy: f32,
    /// Mean training loss of the last whole epoch; NaN if there was none.
    pub final_loss: f32,
    /// Mean training loss of each epoch.
    pub losses: Vec<f32>,
    /// Optimizer steps.
    pub steps: Steps,
    /// The loss scale.
    pub scale: Scale,
    /// Bytes of training state.
    pub bytes: Bytes,
    /// Wall time of training and test.
    pub seconds: f64,
    /// What it learned from.
    #[serde(skip)]
    pub data: Source,
    /// Where it was resumed, in words.
    #[serde(skip)]
    pub resumed: Option<String>,
    /// The first skip's report, in words.
    #[serde(skip)]
    pub first_skip: Option<String>,
    /// Why it ended early.
    #[serde(skip)]
    pub diverged: Option<String>,
}

/// Optimizer steps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Steps {
    /// Begun.
    pub attempted: u64,
    /// That moved parameters.
    pub applied: u64,
    /// That left everything as it was.
    pub skipped: u64,
}

/// The loss scale.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Scale {
    /// Before the first step.
    pub initial: f32,
    /// After the last.
    #[serde(rename = "final")]
    pub last: f32,
    /// The lowest.
    pub min: f32,
    /// The highest.
    pub max: f32,
    /// After each step that was looked at.
    pub history: Vec<f32>,
}

impl Scale {
    /// Before the first step.
    pub fn starting_at(scale: f32) -> Self {
        Self { initial: scale, last: scale, min: scale, max: scale, history: Vec::new() }
    }

    /// After one more step.
    pub fn push(&mut self, scale: f32) {
        self.last = scale;
        self.min = self.min.min(scale);
        self.max = self.max.max(scale);
        self.history.push(scale);
    }
}

/// Bytes of training state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Bytes {
    /// What the model computes with.
    pub parameters: u64,
    /// `f32` copies of low-precision parameters.
    pub masters: u64,
    /// Gradients as backward leaves them, and the `f32` sum of a window of several micro-batches.
    pub gradients: u64,
    /// Moments.
    pub optimizer: u64,
    /// What backward keeps of one micro-batch, at most.
    pub activations_peak: u64,
}
