//! Contents of a checkpoint.

use crate::{FormatError, Mismatch, Restore, format};
use binade_core::RawTensor;
use binade_grad_scaler::{LossScale, SavedWindow, ScaleState};
use binade_master_weights::{OptimizerConfig, SavedParameter};
use serde::Serialize;
use std::collections::BTreeMap;

/// State that a run needs to go on, to the bit, in host memory: made by a [`Draft`](crate::Draft), or read from a file.
///
/// Another thread may write it while the run goes on.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    pub(crate) scalers: BTreeMap<String, SavedScaler>,
    pub(crate) optimizers: BTreeMap<String, SavedOptimizer>,
    pub(crate) windows: BTreeMap<String, SavedWindow>,
    pub(crate) policy: Option<String>,
    pub(crate) words: BTreeMap<String, String>,
    pub(crate) blobs: BTreeMap<String, Vec<u8>>,
    pub(crate) tensors: BTreeMap<String, RawTensor>,
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
        format::read(bytes)
    }

    /// Returns the bytes of a file in the safetensors format. Equal checkpoints give equal bytes.
    ///
    /// # Errors
    ///
    /// If names and numbers are more than the format's header holds, 100 MB.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        format::write(self)
    }

    /// Begins to restore a run to this checkpoint.
    pub fn restore<'r, E: 'r>(&'r self) -> Restore<'r, E> {
        Restore::new(self)
    }

    /// Returns a scaler's rule and state, for callers who need nothing else.
    pub fn scaler(&self, name: &str) -> Option<&SavedScaler> {
        self.scalers.get(name)
    }

    /// Returns an optimizer's configuration and parameters, for callers who need nothing else.
    pub fn optimizer(&self, name: &str) -> Option<&SavedOptimizer> {
        self.optimizers.get(name)
    }

    /// Returns the user metadata string stored under `name`.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// Returns the user's bytes stored under `name`, such as a generator's state.
    pub fn blob(&self, name: &str) -> Option<&[u8]> {
        self.blobs.get(name).map(Vec::as_slice)
    }

    /// Returns the user's tensor stored under `name`, such as running statistics.
    pub fn tensor(&self, name: &str) -> Option<&RawTensor> {
        self.tensors.get(name)
    }

    /// Checks that the user metadata string under `name` equals the run's.
    ///
    /// # Errors
    ///
    /// If they differ, or there are none.
    pub fn check_word(&self, name: &str, expected: &str) -> Result<(), Mismatch> {
        check(name, self.word(name), Some(expected))
    }

    /// Checks that the saved cast policy equals the run's.
    ///
    /// # Errors
    ///
    /// If they differ, or none was saved.
    pub fn check_policy<P: Serialize + ?Sized>(&self, policy: &P) -> Result<(), Mismatch> {
        let expected = serde_json::to_string(policy);
        let expected = expected.map_err(|error| Mismatch::Invalid {
            what: "the run's policy".into(),
            why: error.to_string(),
        })?;
        check("the cast policy", self.policy.as_deref(), Some(&expected))
    }
}

fn check(what: &str, found: Option<&str>, expected: Option<&str>) -> Result<(), Mismatch> {
    if found == expected {
        return Ok(());
    }
    let told = |side: Option<&str>| side.unwrap_or("none").to_owned();
    Err(Mismatch::Differs { what: what.to_owned(), found: told(found), expected: told(expected) })
}
