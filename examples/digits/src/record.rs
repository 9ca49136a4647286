//! Figures of the runs.

use crate::data::Source;
use binade::master_weights::Memory;

pub use binade_example_shared::program::{Outcomes, Steps};

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
    /// Outcomes of the steps.
    pub outcomes: Outcomes,
    /// Bytes of training state; of gradients with the `f32` sum of a window of several micro-batches.
    pub bytes: Memory,
    /// Most bytes that backward keeps of one micro-batch.
    pub activations_peak: u64,
    /// Hash of the parameters' `f32` values, of a run on ranks.
    pub weights: Option<u64>,
    /// Seconds of training and test.
    pub seconds: f64,
    /// Source of the images.
    pub data: Source,
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
}

#[expect(clippy::cast_precision_loss, reason = "0 to a few thousand")]
pub(crate) fn share(images: usize, tested: usize) -> f32 {
    images as f32 / tested as f32
}
