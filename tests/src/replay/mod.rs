//! Replays what other libraries were recorded doing, and compares every bit.
//!
//! A recording is JSON, gzipped or not, of one of eight kinds told apart by what is in it: a run of `GradScaler`, replayed
//! through [`binade_interchange::protocol`] and [`binade_master_weights::step`] together; a table of optimizer steps; tables
//! of casts, held to [`binade_core::cast`]; clipped gradients, held to [`binade_cpu`]; runs of jmp's loss scale, with
//! its policy strings; what torch's autocast returns, held to the presets of [`binade_cast_policy`]; named facts about torch,
//! of which `docs/semantics.md` has those that are not run; runs of any library's scaler with its saved states, held to its
//! rule and importer here. The formats are described beside the recordings, in `data/golden/README.md`, and deliberate differences
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
mod scalars;
mod scalers;
mod semantics;
mod trace;

pub use differences::{DIFFERENCES, Difference};
pub use error::ReplayError;
pub use notes::Notes;
pub use read::{file, parse};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Subject of a recording.
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
    /// How libraries move a scale, and what they save of it.
    Scalers,
    /// torch's autocast lists, and what operations return in a region.
    Autocast,
    /// Named facts about torch.
    Semantics,
}

impl Kind {
    /// Each kind by what only its recordings have.
    const ALL: [(Self, &[&str]); 8] = [
        (Self::GradScaler, &["/config", "/events", "/optimizers"]),
        (Self::Optim, &["/cases", "/grads", "/init"]),
        (Self::Casts, &["/boundary", "/decode"]),
        (Self::Clip, &["/cases/0/op"]),
        (Self::Jmp, &["/policies", "/traces"]),
        (Self::Scalers, &["/library", "/runs"]),
        (Self::Autocast, &["/behaviour", "/registry"]),
        (Self::Semantics, &["/facts"]),
    ];

    /// Tells the kind by the keys that only it has.
    ///
    /// # Errors
    ///
    /// No kind's keys are there.
    pub fn of(recording: &Value) -> Result<Self, ReplayError> {
        let has = |keys: &[&str]| keys.iter().all(|key| recording.pointer(key).is_some());
        let found = Self::ALL.into_iter().find(|(_, keys)| has(keys));
        found.map(|(kind, _)| kind).ok_or_else(|| ReplayError::unknown(recording))
    }
}

/// Replays one recording to its end, or to the first thing that differs.
///
/// # Errors
///
/// What differed and where, or why the recording cannot be read.
pub fn replay(recording: &Value) -> Result<(Kind, Notes), ReplayError> {
    let (kind, mut notes) = (Kind::of(recording)?, Notes::default());
    scalars::agree(recording)?;
    match kind {
        Kind::GradScaler => run::replay(&read(recording)?)?,
        Kind::Optim => optim::replay(&read(recording)?, &mut notes)?,
        Kind::Casts => casts::replay(&read(recording)?, &mut notes)?,
        Kind::Clip => clip::replay(&read(recording)?, &mut notes)?,
        Kind::Autocast => autocast::replay(&read(recording)?, &mut notes)?,
        Kind::Semantics => semantics::replay(&read(recording)?, &mut notes)?,
        Kind::Jmp => jmp::replay(&read(recording)?, &mut notes)?,
        Kind::Scalers => scalers::replay(&read(recording)?, &mut notes)?,
    }
    Ok((kind, notes))
}

/// The recording as its format has it, or where it is not.
fn read<T: DeserializeOwned>(recording: &Value) -> Result<T, ReplayError> {
    serde_path_to_error::deserialize(recording).map_err(|error| ReplayError::Format {
        at: error.path().to_string(),
        what: error.into_inner().to_string(),
    })
}
