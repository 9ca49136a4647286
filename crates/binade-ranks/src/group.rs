//! The trait of a group of ranks, which an engine implements, and the group of one.

use binade_core::{Error, ErrorKind};
use std::time::Duration;

/// One rank's handle of a group of ranks that exchange bytes.
///
/// Each engine implements it: threads, MPI, NCCL. It has no reduction and no element type, since engines differ in their order of addition and in the
/// types that they know. [`Ranks`](crate::Ranks) adds instead.
///
/// # For implementers
///
/// * Every rank makes the same calls in the same order, one after the other; a call returns once this rank's part of it is done.
/// * No call waits for ever: a rank that does not come in time makes [`GroupError::TimedOut`] on the others, and one that is known
///   to be gone [`GroupError::Lost`].
/// * After an error every call is an error, on every rank.
/// * An empty part is as good as any: a rank may have nothing to send, or nothing to receive.
pub trait Group: Send + Sync + 'static {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Fills `all` with the bytes of every rank, concatenated in the order of ranks. `lengths` has the number of bytes of each rank, and is the same
    /// on all ranks.
    ///
    /// # Errors
    ///
    /// If a rank does not come, or the engine fails.
    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError>;

    /// Sends each rank its part of `send`, and fills `receive` with the parts that the ranks send to this one. Parts are concatenated in the order of
    /// ranks; `sends` and `receives` are their lengths in bytes.
    ///
    /// # Errors
    ///
    /// If a rank does not come, or the engine fails.
    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError>;

    /// Replaces `bytes` on every rank by those of rank `root`. Their number is the same on all ranks.
    ///
    /// # Errors
    ///
    /// If a rank does not come, or the engine fails.
    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError>;
}

/// Reason why a group has ended.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum GroupError {
    /// Ranks that did not come in time.
    #[error(
        "ranks {missing:?} of {ranks} did not come to `{call}` within {patience:?}: they have stalled, or make other calls; end \
         all ranks and start again from a checkpoint"
    )]
    TimedOut {
        /// Name of the call that waited.
        call: &'static str,
        /// Ranks that the call waited for.
        missing: Vec<usize>,
        /// Number of ranks.
        ranks: usize,
        /// Time that the call waited.
        patience: Duration,
    },
    /// Ranks that are gone.
    #[error(
        "ranks {missing:?} of {ranks} are gone, so that `{call}` cannot end: see their own errors, and start again from a checkpoint"
    )]
    Lost {
        /// Name of the call that cannot complete.
        call: &'static str,
        /// Ranks that are gone.
        missing: Vec<usize>,
        /// Number of ranks.
        ranks: usize,
    },
    /// Failure of the engine, or calls of ranks that do not match.
    #[error("`{call}` failed: {why}")]
    Failed {
        /// Name of the call.
        call: &'static str,
        /// Reason, in the engine's words.
        why: String,
    },
}

impl Error for GroupError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::DeviceLost
    }
}

/// Group of one rank. It transfers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl Group for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn ranks(&self) -> usize {
        1
    }

    fn all_gather(&self, own: &[u8], _: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        copy("all_gather", own, all)
    }

    fn exchange(
        &self,
        send: &[u8],
        _: &[usize],
        receive: &mut [u8],
        _: &[usize],
    ) -> Result<(), GroupError> {
        copy("exchange", send, receive)
    }

    fn broadcast(&self, _: usize, _: &mut [u8]) -> Result<(), GroupError> {
        Ok(())
    }
}

/// Copies bytes. It returns an error if the lengths differ.
pub(crate) fn copy(call: &'static str, from: &[u8], to: &mut [u8]) -> Result<(), GroupError> {
    if from.len() != to.len() {
        let why = format!("{} bytes came where {} were expected", from.len(), to.len());
        return Err(GroupError::Failed { call, why });
    }
    to.copy_from_slice(from);
    Ok(())
}
