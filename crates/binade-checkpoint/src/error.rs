//! Errors of checkpoints, and their remedies.

use binade_core::{LoadError, SpecMismatch};
use std::{io, path::PathBuf};

/// Reason why a checkpoint cannot be made at this point.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DraftError {
    /// Values of a step in flight, which a checkpoint does not hold.
    #[error(
        "{} still in use (a loss, gradients, a step, an outcome or an open window): finish or drop it before the checkpoint, and hand \
         over every open window", values(in_flight.saturating_sub(*windows))
    )]
    InFlight {
        /// Number of values in flight, by [`Scaler::in_flight`](binade_grad_scaler::Scaler::in_flight).
        in_flight: usize,
        /// Number of windows that were passed to the draft and hold a sum.
        windows: usize,
    },
    /// Draft that was begun before the run's last step.
    #[error(
        "steps were taken since the one that this checkpoint was begun with: begin it with the outcome of the last"
    )]
    Stale,
    /// Two objects of the same kind and name.
    #[error("two {kind}s are called `{name}`; give each a name of its own")]
    Duplicate {
        /// Kind of both objects.
        kind: &'static str,
        /// Name of both objects.
        name: String,
    },
    /// Name with a character that the file uses as a separator.
    #[error("`{0}` cannot be a name: it has a `/`, which separates names in the file")]
    Name(String),
}

/// Returns the text of a number of values in flight.
fn values(count: usize) -> String {
    match count {
        1 => "1 value of a scaler is".into(),
        _ => format!("{count} values of scalers are"),
    }
}

/// Reason why an object was not added to a checkpoint, or why a checkpoint was not written by rank.
#[derive(Debug, thiserror::Error)]
pub enum SaveError<E> {
    /// Object that cannot be added at this point or under this name.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// File that was not written, on this rank or another.
    #[error(transparent)]
    File(#[from] FileError),
    /// Error of the device.
    #[error(transparent)]
    Device(E),
}

/// Reason why bytes are not a checkpoint.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum FormatError {
    /// Bytes that end within the header.
    #[error("it is torn: it ends after {0} bytes, within its header")]
    Short(usize),
    /// Bytes of another format.
    #[error("it is no safetensors file: {0}")]
    NotSafetensors(String),
    /// Safetensors file that another program wrote.
    #[error("it is a safetensors file, and no Binade checkpoint: its metadata has no `binade`")]
    Foreign,
    /// Checkpoint that another version wrote.
    #[error(
        "it is a checkpoint of format `{0}`, and this version reads 2; take the version that wrote it"
    )]
    Version(String),
    /// File whose bytes differ from those written.
    #[error(
        "it is torn or has been changed: its checksum is {found:08x}, and {expected} was written"
    )]
    Checksum {
        /// Checksum of the bytes.
        found: u32,
        /// Checksum that the file states.
        expected: String,
    },
    /// Index that cannot be read, or does not fit the tensors.
    #[error("its index cannot be read: {0}")]
    Index(String),
    /// Number that is not finite, in a rule, a scale or a found-inf result.
    #[error(
        "a number in its index is infinite, NaN or beyond its type ({0}); look at rates, rules and scales"
    )]
    Number(String),
    /// Manifest of a checkpoint by rank, whose tensors are in other files.
    #[error(
        "it is the manifest of a checkpoint by rank, whose tensors are in the files beside it: read it by its path"
    )]
    Manifest,
    /// One rank's file of a checkpoint by rank.
    #[error(
        "it is one rank's file of a checkpoint by rank: give the manifest, which has the same name without `.STEP.RANK-of-RANKS`"
    )]
    RankFile,
    /// File of a rank that differs from the one in the manifest.
    #[error(
        "it is of another checkpoint than its manifest, or has been changed: it has {found}, and the manifest names {expected}"
    )]
    OtherFile {
        /// Value in the file.
        found: String,
        /// Value in the manifest.
        expected: String,
    },
    /// Tensor that is one rank's slice, in a call that needs whole tensors.
    #[error(
        "it has a slice of `{0}` alone: write the checkpoint by `write_by_rank`, or save it from a device without \
         `with_saved_slices`"
    )]
    Slice(String),
    /// Index that is too large for a header.
    #[error("it cannot be written: {0}")]
    TooLarge(String),
}

impl FormatError {
    pub(crate) fn index(error: impl std::fmt::Display) -> Self {
        Self::Index(error.to_string())
    }
}

/// Reason why a file was not written, or not read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Error of the operating system.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// Operation that failed.
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// File that is not a whole checkpoint.
    #[error("{}: {source}; give another checkpoint, or start anew", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Fault of its bytes.
        source: FormatError,
    },
    /// File that is not whole, while the previous checkpoint is whole.
    #[error(
        "{why}. The checkpoint before it, {}, is whole: `Checkpoint::read_or_previous` takes it, and the steps since it are lost",
        previous.display()
    )]
    OnlyPrevious {
        /// Error of the last file.
        why: Box<FileError>,
        /// Path of the previous checkpoint.
        previous: PathBuf,
    },
    /// Failure of another rank.
    #[error("on rank {rank}: {why}")]
    Rank {
        /// Number of the rank.
        rank: usize,
        /// Text of the rank's error.
        why: String,
    },
    /// File of another rank that is not visible on the first rank.
    #[error(
        "rank {rank} has written {}, which rank 0 does not see as it was written: give all ranks a path on one shared file system, or \
         save whole files", path.display()
    )]
    Unseen {
        /// Number of the rank.
        rank: usize,
        /// Path of the file on rank 0.
        path: PathBuf,
    },
    /// File that does not exist.
    #[error(
        "there is no checkpoint {}, and none in {}: give the file of an earlier run, or start anew", path.display(),
        previous.display()
    )]
    None {
        /// Path of the file.
        path: PathBuf,
        /// Path at which the previous checkpoint would be.
        previous: PathBuf,
    },
}

/// Difference between a checkpoint, or torch's state, and the run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Mismatch {
    /// Object that the checkpoint lacks.
    #[error("the checkpoint has no {kind} `{name}`; it has {}", list(has))]
    Missing {
        /// Kind of the object: a scaler, an optimizer, a window.
        kind: &'static str,
        /// Name asked for.
        name: String,
        /// Names of that kind in the checkpoint.
        has: Vec<String>,
    },
    /// Object of the checkpoint that the run did not ask for, and that would be lost.
    #[error(
        "the checkpoint has the {kind} `{name}`, which was not restored: ask for it too, or its state is lost"
    )]
    Unasked {
        /// Kind of the object: a scaler, an optimizer, a window.
        kind: &'static str,
        /// Name of the object.
        name: String,
    },
    /// Value that differs from the run's.
    #[error(
        "{what}: found {found}, expected {expected}; set the run up as the one that was saved, or start anew"
    )]
    Differs {
        /// Description of the value.
        what: String,
        /// Value that was saved.
        found: String,
        /// Value of the run.
        expected: String,
    },
    /// Value that no run can have.
    #[error("{what}: {why}; the file was made by something else")]
    Invalid {
        /// Description of the value.
        what: String,
        /// Fault of the value.
        why: String,
    },
    /// Tensor that does not fit.
    #[error("{what}: {source}")]
    Tensor {
        /// Optimizer or window that it belongs to.
        what: String,
        /// Tensor, and the way it differs.
        source: Box<SpecMismatch>,
    },
    /// Torch state that the conversion did not write, or whose names or rule differ from the optimizer's.
    #[error("{0}")]
    Torch(String),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Reason why a run was not restored, or why a checkpoint was not read by rank. Nothing of the run has changed, unless the device failed.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError<E> {
    /// File that was not read, on this rank or another.
    #[error(transparent)]
    File(#[from] FileError),
    /// Checkpoint of another run.
    #[error(transparent)]
    Mismatch(#[from] Mismatch),
    /// Error of the device.
    #[error(transparent)]
    Device(E),
}

impl<E> RestoreError<E> {
    pub(crate) fn load(what: String, error: LoadError<E>) -> Self {
        match error {
            LoadError::SpecMismatch(misfit) => {
                Mismatch::Tensor { what, source: misfit.into() }.into()
            }
            LoadError::Device(error) => Self::Device(error),
        }
    }
}
