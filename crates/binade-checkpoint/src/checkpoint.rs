//! What a checkpoint holds.

use crate::{FormatError, Mismatch, Restore, format};
use binade_core::RawTensor;
use binade_grad_scaler::{LossScale, SavedWindow, ScaleState};
use binade_master_weights::{Plan, SavedParameter};
use serde::Serialize;
use std::collections::BTreeMap;

/// All that a run needs to go on, to the bit, in host memory: made by a [`Draft`](crate::Draft), or read from a file.
///
/// It may be written by another thread while the run goes on.
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

/// A scaler's rule and state.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SavedScaler {
    /// How the scale moves.
    pub rule: LossScale,
    /// The scale and its counters.
    pub state: ScaleState,
}

/// An optimizer's plan, and its parameters with all that is kept for them.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedOptimizer {
    /// Which rule moves which parameter, learning rates as they were.
    pub plan: Plan,
    /// In the model's order.
    pub parameters: Vec<SavedParameter>,
}

impl Checkpoint {
    /// The checkpoint in these bytes, all of them.
    ///
    /// # Errors
    ///
    /// When they are torn, changed, or something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        format::read(bytes)
    }

    /// The bytes of a file in the safetensors format. The same checkpoint gives the same bytes.
    ///
    /// # Errors
    ///
    /// When names and numbers are more than the format's header holds, 100 MB.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FormatError> {
        format::write(self)
    }

    /// Begins to put a run where this was made.
    pub fn restore<'r, E: 'r>(&'r self) -> Restore<'r, E> {
        Restore::new(self)
    }

    /// A scaler's rule and state, for whoever wants nothing else.
    pub fn scaler(&self, name: &str) -> Option<&SavedScaler> {
        self.scalers.get(name)
    }

    /// An optimizer's plan and parameters, for whoever wants nothing else.
    pub fn optimizer(&self, name: &str) -> Option<&SavedOptimizer> {
        self.optimizers.get(name)
    }

    /// The user's own words under `name`.
    pub fn word(&self, name: &str) -> Option<&str> {
        self.words.get(name).map(String::as_str)
    }

    /// The user's own bytes under `name`: a generator's state.
    pub fn blob(&self, name: &str) -> Option<&[u8]> {
        self.blobs.get(name).map(Vec::as_slice)
    }

    /// The user's own tensor under `name`: running statistics.
    pub fn tensor(&self, name: &str) -> Option<&RawTensor> {
        self.tensors.get(name)
    }

    /// Holds the user's own words under `name` to the run's.
    ///
    /// # Errors
    ///
    /// When they differ, or there are none.
    pub fn check_word(&self, name: &str, expected: &str) -> Result<(), Mismatch> {
        check(name, self.word(name), Some(expected))
    }

    /// Holds the policy that operations were cast by to the run's.
    ///
    /// # Errors
    ///
    /// When they differ, or none was saved.
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
