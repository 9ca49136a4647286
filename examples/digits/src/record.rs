//! Figures of the runs, as `--json` writes them.

use crate::data::Source;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// All runs of a session.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Record {
    /// Runs in the order of the table.
    pub runs: Vec<Run>,
}

/// Error of writing the record.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}; give --json a file in a folder that is there", path.display())]
pub struct WriteError {
    /// Path of the file.
    pub path: PathBuf,
    source: io::Error,
}

impl Record {
    /// Writes everything so far to `path`, in place of an older file. Values that are not finite are null, as JSON requires.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WriteError> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let written = text.and_then(|text| std::fs::write(path, text + "\n"));
        written.map_err(|source| WriteError { path: path.to_owned(), source })
    }
}

/// Run of one level in one low type.
#[derive(Clone, Debug, Default, Serialize)]
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
    #[serde(skip)]
    pub data: Source,
    /// Message of a resumed run.
    #[serde(skip)]
    pub resumed: Option<String>,
    /// First skip's report, in words.
    #[serde(skip)]
    pub first_skip: Option<String>,
    /// Message of a run that ended early.
    #[serde(skip)]
    pub diverged: Option<String>,
}

/// Counts of optimizer steps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Steps {
    /// Steps begun.
    pub attempted: u64,
    /// Steps that moved parameters.
    pub applied: u64,
    /// Steps that changed nothing.
    pub skipped: u64,
}

/// History of the loss scale.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Scale {
    /// Scale before the first step.
    pub initial: f32,
    /// Scale after the last step.
    #[serde(rename = "final")]
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
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
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
