//! Replays what other libraries were recorded doing, and compares every bit.
//!
//! A recording is JSON, gzipped or not, of one of five kinds told apart by what is in it: a run of `GradScaler`, replayed
//! through [`binade_grad_scaler::protocol`] and [`binade_master_weights::step`] together; a table of optimizer steps; tables
//! of casts, held to [`binade_core::cast`]; clipped gradients, held to [`binade_cpu`]; runs of jmp's loss scale, with
//! its policy strings. The formats are described beside the recordings, in `data/golden/README.md`, and deliberate differences
//! are [`DIFFERENCES`].

mod autocast;
mod bits;
mod casts;
mod clip;
mod differences;
mod dtype;
mod error;
mod jmp;
mod notes;
mod optim;
mod optimizer;
mod outputs;
mod policies;
mod read;
mod run;
mod semantics;
mod trace;

pub use differences::{DIFFERENCES, Difference};
pub use error::ReplayError;
pub use notes::Notes;
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
    /// Casts to sixteen and eight bits, and back.
    Casts,
    /// Gradients clipped by norm and by value.
    Clip,
    /// Runs of jmp's loss scale.
    Jmp,
    /// torch's autocast lists, and what operations return in a region.
    Autocast,
    /// Named facts about torch.
    Semantics,
}

impl Kind {
    /// Tells the kind by the keys that only it has.
    ///
    /// # Errors
    ///
    /// No kind's keys are there.
    pub fn of(recording: &Value) -> Result<Self, ReplayError> {
        let has = |keys: &[&str]| keys.iter().all(|key| recording.get(key).is_some());
        if has(&["config", "events", "optimizers"]) {
            return Ok(Self::GradScaler);
        }
        if has(&["cases", "grads", "init"]) {
            return Ok(Self::Optim);
        }
        if has(&["boundary", "decode"]) {
            return Ok(Self::Casts);
        }
        if recording.pointer("/cases/0/op").is_some() {
            return Ok(Self::Clip);
        }
        if has(&["policies", "traces"]) {
            return Ok(Self::Jmp);
        }
        if has(&["behaviour", "registry"]) {
            return Ok(Self::Autocast);
        }
        if has(&["facts"]) {
            return Ok(Self::Semantics);
        }
        Err(ReplayError::unknown(recording))
    }
}

/// Replays one recording to its end, or to the first thing that differs.
///
/// # Errors
///
/// What differed and where, or why the recording cannot be read.
pub fn replay(recording: &Value) -> Result<(Kind, Notes), ReplayError> {
    let (kind, mut notes) = (Kind::of(recording)?, Notes::default());
    match kind {
        Kind::GradScaler => run::replay(&trace::Trace::deserialize(recording)?)?,
        Kind::Optim => optim::replay(&optim::Table::deserialize(recording)?, &mut notes)?,
        Kind::Casts => casts::replay(&casts::Tables::deserialize(recording)?, &mut notes)?,
        Kind::Clip => clip::replay(&clip::Table::deserialize(recording)?, &mut notes)?,
        Kind::Autocast => {
            autocast::replay(&autocast::Recorded::deserialize(recording)?, &mut notes)?;
        }
        Kind::Semantics => {
            semantics::replay(&semantics::Recorded::deserialize(recording)?, &mut notes)?;
        }
        Kind::Jmp => jmp::replay(&jmp::Recorded::deserialize(recording)?, &mut notes)?,
    }
    Ok((kind, notes))
}
