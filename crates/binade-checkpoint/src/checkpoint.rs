//! Contents of a checkpoint.

use crate::{
    FormatError, Restore,
    format::{self, Contents},
};
use binade_core::RawTensor;
use binade_grad_scaler::{LossScale, SavedWindow, ScaleState};
use binade_master_weights::{OptimizerConfig, SavedParameter};
use std::collections::BTreeMap;

/// State from which a run resumes bit for bit, in host memory. A [`Draft`](crate::Draft) makes it, or it is read from a file.
///
/// Another thread may write it while the run continues.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// Rule and state of each scaler.
    pub scalers: BTreeMap<String, SavedScaler>,
    /// Configuration and parameters of each optimizer.
    pub optimizers: BTreeMap<String, SavedOptimizer>,
    /// Open windows.
    pub windows: BTreeMap<String, SavedWindow>,
    /// Custom metadata strings, such as the epoch.
    pub words: BTreeMap<String, String>,
    /// Custom bytes, such as a generator's state.
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Custom tensors, such as running statistics.
    pub tensors: BTreeMap<String, RawTensor>,
}

/// Rule and state of a scaler.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SavedScaler {
    /// Rule by which the scale moves.
    pub rule: LossScale,
    /// Scale with its counters.
    pub state: ScaleState,
}

/// Configuration of an optimizer, and its parameters with all their state.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedOptimizer {
    /// Configuration: rules by parameter, with the learning rates at the time of saving.
    pub config: OptimizerConfig,
    /// Parameters in the model's order.
    pub parameters: Vec<SavedParameter>,
}

impl Checkpoint {
    /// Reads a checkpoint from the bytes of its file.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are truncated, changed, or not a checkpoint.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        match format::read(bytes)? {
            Contents::Whole(checkpoint) => Ok(checkpoint),
            Contents::Manifest(_) => Err(FormatError::Manifest),
        }
    }

    /// Returns the bytes of a file in the safetensors format. Equal checkpoints give equal bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if names and numbers exceed the format's header, which holds 100 MB, or if the checkpoint has slices of one rank.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        format::write(self)
    }

    /// Begins to restore a run to this checkpoint.
    pub fn restore<'r, E: 'r>(&'r self) -> Restore<'r, E> {
        Restore::new(self)
    }
}
