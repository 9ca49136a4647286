//! Replays what torch was recorded doing, and compares every bit.
//!
//! A recording is JSON, gzipped or not, of one of two kinds told apart by what is in it: a run of `GradScaler`, replayed
//! through [`binade_grad_scaler::protocol`] and [`binade_master_weights::step`] together, or a table of optimizer steps.
//! The format is described beside the recordings, in `data/golden/README.md`.

mod bits;
mod error;
mod optim;
mod optimizer;
mod outputs;
mod read;
mod run;
mod trace;

pub use error::ReplayError;
pub use read::{file, parse};

use serde::Deserialize;
use serde_json::Value;

/// What a recording is of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// One run of `GradScaler`.
    GradScaler,
    /// Settings of optimizers, many steps each.
    Optim,
}

impl Kind {
    /// Tells the kind by the keys that only it has.
    ///
    /// # Errors
    ///
    /// Neither kind's keys are there.
    pub fn of(recording: &Value) -> Result<Self, ReplayError> {
        let has = |keys: &[&str]| keys.iter().all(|key| recording.get(key).is_some());
        if has(&["config", "events", "optimizers"]) {
            return Ok(Self::GradScaler);
        }
        if has(&["cases", "grads", "init"]) {
            return Ok(Self::Optim);
        }
        Err(ReplayError::unknown(recording))
    }
}

/// Replays one recording to its end, or to the first thing that differs.
///
/// # Errors
///
/// What differed and where, or why the recording cannot be read.
pub fn replay(recording: &Value) -> Result<Kind, ReplayError> {
    let kind = Kind::of(recording)?;
    match kind {
        Kind::GradScaler => run::replay(&trace::Trace::deserialize(recording)?)?,
        Kind::Optim => optim::replay(&optim::Table::deserialize(recording)?)?,
    }
    Ok(kind)
}
