//! What can go wrong, and what to do about it.

use binade_core::Misfit;
use binade_grad_scaler::ReopenError;
use binade_master_weights::LoadError;
use std::{io, path::PathBuf};

/// Why a checkpoint cannot be made here.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DraftError {
    /// Something of a step is still in hand, which no checkpoint holds.
    #[error(
        "scalers have {in_flight} values under way, and {windows} of them are windows that this checkpoint holds: finish or \
         drop scaled losses, gradients, pending steps and outcomes first, and hand over every open window"
    )]
    InFlight {
        /// Values under way, by [`Scaler::in_flight`](binade_grad_scaler::Scaler::in_flight).
        in_flight: usize,
        /// Windows that were handed over and hold a sum.
        windows: usize,
    },
    /// The run has gone on since.
    #[error(
        "steps were taken since the one that this checkpoint was begun with: begin it with the outcome of the last"
    )]
    Stale,
    /// Two things of one kind under one name.
    #[error("two {kind}s are called `{name}`; give each a name of its own")]
    Duplicate {
        /// Of what kind.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A name that would make another.
    #[error("`{0}` cannot be a name: it has a `/`, which separates names in the file")]
    Name(String),
    /// A policy that cannot be written down.
    #[error("the policy cannot be serialised: {0}")]
    Policy(String),
}

/// Why something was not taken into a checkpoint.
#[derive(Debug, thiserror::Error)]
pub enum SaveError<E> {
    /// It cannot be, here or so.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// The device failed.
    #[error(transparent)]
    Device(E),
}

/// Why bytes are no checkpoint.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// They end too soon to tell.
    #[error("it is torn: it ends after {0} bytes, within its header")]
    Short(usize),
    /// Something else altogether.
    #[error("it is no safetensors file: {0}")]
    NotSafetensors(String),
    /// A safetensors file that something else wrote.
    #[error("it is a safetensors file, and no Binade checkpoint: its metadata has no `binade`")]
    Foreign,
    /// Written by another version.
    #[error(
        "it is a checkpoint of format `{0}`, and this version reads 1; take the version that wrote it"
    )]
    Version(String),
    /// Not the bytes that were written.
    #[error(
        "it is torn or has been changed: its checksum is {found:08x}, and {expected} was written"
    )]
    Checksum {
        /// Of what is there.
        found: u32,
        /// What the file says.
        expected: String,
    },
    /// An index that does not say what is in the file.
    #[error("its index cannot be read: {0}")]
    Index(String),
    /// A number of the index that is none, or is beyond what its field holds.
    #[error(
        "`{field}` in its index is {value}, and has to be a finite number in reach of its type; nothing in Binade writes such a \
         file"
    )]
    NotFinite {
        /// The keys that lead to it.
        field: String,
        /// As it stands there.
        value: String,
    },
    /// The index names a tensor that is not there.
    #[error("its index names the tensor `{0}`, which it does not have")]
    NoTensor(String),
    /// A type that Binade has no word for.
    #[error("its tensor `{name}` is of type {dtype}, which no checkpoint has")]
    Type {
        /// The tensor.
        name: String,
        /// Its type.
        dtype: String,
    },
    /// A number that is none, in a rule, a scale or a finding.
    #[error(
        "it cannot be written: a number in its index is infinite or NaN ({0}); look at rates, rules and scales"
    )]
    Number(String),
    /// More than a header holds.
    #[error("it cannot be written: {0}")]
    TooLarge(String),
}

/// Why a file was not written, or not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is not what it should be.
    #[error("{}: {source}; give another checkpoint, or start anew", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: FormatError,
    },
    /// The last is not whole, and the one before it is.
    #[error(
        "{why}. The checkpoint before it, {}, is whole: `Checkpoint::read_or_previous` takes it, and the steps since it are lost",
        previous.display()
    )]
    OnlyPrevious {
        /// The error of the last file.
        why: Box<FileError>,
        /// Where the one before it is.
        previous: PathBuf,
    },
    /// There is none.
    #[error(
        "there is no checkpoint {}, and none in {}: give the file of an earlier run, or start anew", path.display(),
        previous.display()
    )]
    None {
        /// The file.
        path: PathBuf,
        /// Where the one before it would be.
        previous: PathBuf,
    },
}

/// A checkpoint of something else than the run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Mismatch {
    /// Nothing of that name.
    #[error("the checkpoint has no {kind} `{name}`; it has {}", list(has))]
    Missing {
        /// A scaler, an optimizer, a window.
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// Those that it has.
        has: Vec<String>,
    },
    /// Something that would be lost.
    #[error(
        "the checkpoint has the {kind} `{name}`, which was not restored: ask for it too, or its state is lost"
    )]
    Unasked {
        /// A scaler, an optimizer, a window.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Another value than the run's.
    #[error(
        "{what}: found {found}, expected {expected}; set the run up as the one that was saved, or start anew"
    )]
    Differs {
        /// What differs, of what.
        what: String,
        /// What was saved.
        found: String,
        /// The run's.
        expected: String,
    },
    /// A value that no run can have.
    #[error("{what}: {why}; the file was made by something else")]
    Invalid {
        /// Of what.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// A tensor that does not fit.
    #[error("{what}: {source}")]
    Tensor {
        /// Of which optimizer or window.
        what: String,
        /// Which one, and how.
        source: Box<Misfit>,
    },
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Why a run was not restored. Nothing of it has changed, unless the device failed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError<E> {
    /// The checkpoint is of something else.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// The device failed.
    #[error(transparent)]
    Device(E),
}

impl<E> RestoreError<E> {
    pub(crate) fn load(what: String, error: LoadError<E>) -> Self {
        match error {
            LoadError::Misfit(misfit) => Mismatch::Tensor { what, source: misfit.into() }.into(),
            LoadError::Device(error) => Self::Device(error),
        }
    }

    pub(crate) fn reopen(what: String, error: ReopenError<E>) -> Self {
        match error {
            ReopenError::Misfit(misfit) => Mismatch::Tensor { what, source: misfit.into() }.into(),
            ReopenError::Device(error) => Self::Device(error),
        }
    }
}
