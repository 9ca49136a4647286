//! Reasons why a replay did not pass.

use binade_interchange::protocol::ProtocolError;
use serde_json::Value;
use std::io;

/// Reason why a replay did not pass.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read or unpacked.
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    /// The file is not JSON.
    #[error("is not a recording: {0}")]
    Json(#[from] serde_json::Error),
    /// The recording's keys are of a known kind, and a value is not as in that kind.
    #[error("{at}: is not as in recordings of its kind: {what}")]
    Format {
        /// Place in the recording.
        at: String,
        /// The value that is there, and the one that should be.
        what: String,
    },
    /// The file is JSON of some other kind.
    #[error(
        "is of no kind that can be replayed: a GradScaler run has config, events and optimizers, an optimizer table cases, \
         grads and init, clips have cases with an op, jmp traces and policies, autocast \
         behaviour and registry, semantics facts, scalers a library and runs; this has {found}"
    )]
    UnknownKind {
        /// The schema at its top.
        found: String,
    },
    /// The recording contradicts itself, for example by an optimizer that it does not have.
    #[error("{at}: the recording itself is wrong: {what}")]
    Inconsistent {
        /// The event or step.
        at: String,
        /// The message.
        what: String,
    },
    /// Something came out differently.
    #[error("{at}: {what}")]
    Differs {
        /// The event or step.
        at: String,
        /// The value that came out, and the one that was recorded.
        what: String,
    },
}

impl ReplayError {
    pub(super) fn unknown(recording: &Value) -> Self {
        let found = match recording {
            Value::Object(map) => map.keys().take(12).cloned().collect::<Vec<_>>().join(", "),
            _ => "no keys at all".into(),
        };
        Self::UnknownKind { found }
    }
}

/// Fault within one event, before it is known which.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The recording.
    Recording(String),
    /// The result.
    Result(String),
}

impl Wrong {
    /// Adds the place `i` of a list to the fault.
    pub(super) fn within(self, i: usize) -> Self {
        match self {
            Self::Recording(what) => Self::Recording(format!("[{i}]: {what}")),
            Self::Result(what) => Self::Result(format!("[{i}]: {what}")),
        }
    }

    pub(super) fn at(self, at: impl Into<String>) -> ReplayError {
        let at = at.into();
        match self {
            Self::Recording(what) => ReplayError::Inconsistent { at, what },
            Self::Result(what) => ReplayError::Differs { at, what },
        }
    }
}

/// Reason why a replayed call did not complete.
#[derive(Debug)]
pub(super) enum Stop {
    /// The scaler refused it, which may be what torch did.
    Refused(ProtocolError),
    /// The call returned, and there is nothing recorded to compare with.
    Unrecorded,
    /// Something is wrong already.
    Wrong(Wrong),
}

impl From<ProtocolError> for Stop {
    fn from(error: ProtocolError) -> Self {
        Self::Refused(error)
    }
}

impl From<Wrong> for Stop {
    fn from(wrong: Wrong) -> Self {
        Self::Wrong(wrong)
    }
}

/// Passes where the two are equal, and shows both where they are not.
pub(super) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &T,
    recorded: &T,
) -> Result<(), Wrong> {
    if got == recorded {
        Ok(())
    } else {
        Err(Wrong::Result(format!("{what} is {got:?}, and was {recorded:?}")))
    }
}
