//! Contents of a checkpoint.

use crate::{
    FormatError, Restore,
    format::{self, Contents},
};
use binade_core::RawTensor;
use binade_grad_scaler::{LossScale, SavedWindow, ScaleState};
use binade_master_weights::{OptimizerConfig, SavedParameter};
use std::collections::BTreeMap;

/// State that a run needs to go on, to the bit, in host memory: made by a [`Draft`](crate::Draft), or read from a file.
///
/// Another thread may write it while the run goes on.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// Rule and state of each scaler.
    pub scalers: BTreeMap<String, SavedScaler>,
    /// Configuration and parameters of each optimizer.
    pub optimizers: BTreeMap<String, SavedOptimizer>,
    /// Open windows.
    pub windows: BTreeMap<String, SavedWindow>,
    /// Metadata strings of the user's own, such as the epoch.
    pub words: BTreeMap<String, String>,
    /// Bytes of the user's own, such as a generator's state.
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Tensors of the user's own, such as running statistics.
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

/// Plan of an optimizer, and its parameters with all their state.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedOptimizer {
    /// Plan: rules by parameter, with learning rates as they were.
    pub config: OptimizerConfig,
    /// Parameters in the model's order.
    pub parameters: Vec<SavedParameter>,
}

impl Checkpoint {
    /// Reads the checkpoint in these bytes.
    ///
    /// # Errors
    ///
    /// If they are torn, changed, or something else.
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
    /// If names and numbers are more than the format's header holds, 100 MB, or it has slices of one rank.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        format::write(self)
    }

    /// Begins to restore a run to this checkpoint.
    pub fn restore<'r, E: 'r>(&'r self) -> Restore<'r, E> {
        Restore::new(self)
    }
}
