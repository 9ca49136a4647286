//! Replays what other libraries were recorded doing, and compares every bit.
//!
//! A recording is JSON, gzipped or not, of one of seven kinds told apart by what is in it: a run of `GradScaler`, replayed
//! through [`binade_interchange::protocol`] and [`binade_master_weights::step`] together; a table of optimizer steps;
//! clipped gradients, held to [`binade_cpu`]; runs of jmp's loss scale, with
//! its policy strings; what torch's autocast returns, held to the presets of [`binade_cast_policy`]; named facts about torch,
//! of which `docs/semantics.md` has those that are not run; runs of any library's scaler with its saved states, held to its
//! rule and importer here. The formats are described beside the recordings, in `data/golden/README.md`, and deliberate differences
//! are [`Difference`].

mod autocast;
mod bits;
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
mod scalers;
mod semantics;
mod trace;

pub use differences::Difference;
pub use error::ReplayError;
pub use notes::Notes;
pub use read::{file, parse};

use serde::de::DeserializeOwned;
use serde_json::Value;

type Replay = fn(&Value, &mut Notes) -> Result<(), ReplayError>;

/// Replay of each kind of recording, by the keys that only its recordings have.
const KINDS: [(&[&str], Replay); 7] = [
    (&["/config", "/events", "/optimizers"], |recording, _| run::replay(recording)),
    (&["/cases", "/grads", "/init"], |recording, notes| optim::replay(&read(recording)?, notes)),
    (&["/cases/0/op"], |recording, notes| clip::replay(&read(recording)?, notes)),
    (&["/policies", "/traces"], |recording, notes| jmp::replay(&read(recording)?, notes)),
    (&["/library", "/runs"], |recording, notes| scalers::replay(&read(recording)?, notes)),
    (&["/behaviour", "/registry"], |recording, notes| autocast::replay(&read(recording)?, notes)),
    (&["/facts"], |recording, notes| semantics::replay(&read(recording)?, notes)),
];

/// Replays one recording to its end, or to the first thing that differs.
///
/// # Errors
///
/// What differed and where, or why the recording cannot be read.
pub fn replay(recording: &Value) -> Result<Notes, ReplayError> {
    let has = |keys: &[&str]| keys.iter().all(|key| recording.pointer(key).is_some());
    let found = KINDS.iter().find(|(keys, _)| has(keys));
    let (_, replay) = found.ok_or_else(|| ReplayError::unknown(recording))?;
    let mut notes = Notes::default();
    replay(recording, &mut notes)?;
    Ok(notes)
}

/// The recording as its format has it, or where it is not.
fn read<T: DeserializeOwned>(recording: &Value) -> Result<T, ReplayError> {
    serde_path_to_error::deserialize(recording).map_err(|error| ReplayError::Format {
        at: error.path().to_string(),
        what: error.into_inner().to_string(),
    })
}
