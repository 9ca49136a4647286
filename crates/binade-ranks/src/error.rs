//! Errors of `Ranks`.

use crate::GroupError;
use binade_core::ops::OperandError;
use binade_core::{Error, ErrorKind, MatchError};
use binade_master_weights::MasterStore;
use std::sync::Arc;

/// Error of the device, of the group, or between ranks that differ.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RanksError<E> {
    /// Error of the device.
    #[error(transparent)]
    Device(E),
    /// Failure that ended the group.
    #[error(transparent)]
    Group(GroupError),
    /// Difference between ranks.
    #[error(transparent)]
    Desync(Desync),
    /// Operands that do not fit the call, on this rank or over all ranks.
    #[error(transparent)]
    Operands(OperandError),
    /// Gradients of shards in a call that needs their average.
    #[error(
        "these gradients are each shard's own: unscale them first, which averages them over the ranks"
    )]
    NotAveraged,
    /// Master store that cannot be cut: the masters of a slice differ from the slice of the masters.
    #[error(
        "`MasterStore::{0:?}` keeps masters of whole tensors, and cannot be cut into the ranks' slices: choose another store, or \
         `Partition::Whole`"
    )]
    Indivisible(MasterStore),
    /// Gradient whose shape differs from that of its parameter, or of earlier micro-batches. Slices of both may have the same length.
    #[error(transparent)]
    Mismatch(MatchError),
    /// Update rule that needs norms of whole tensors, while each rank has slices.
    #[error(
        "the update rule `{0}` steps by norms of whole tensors, and each rank has slices of them: choose another rule, or \
         `Partition::Whole`"
    )]
    WholeTensors(&'static str),
    /// Gradient that does not fit the parameters.
    #[error(
        "the gradient of `{name}` {why}; tell that of each parameter once, in the parameter's type and shape"
    )]
    Gradient {
        /// Name with which the gradient was reported.
        name: Arc<str>,
        /// Reason.
        why: String,
    },
}

/// Difference between ranks of one run. Every rank returns it, in the call in which they differ.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "ranks differ in {what}: rank 0 has {}, ranks {ranks:?} have {}; start all ranks alike, from one checkpoint", values[0], values[1]
)]
pub struct Desync {
    /// Name of the thing that differs.
    pub what: &'static str,
    /// Ranks that differ from rank 0.
    pub ranks: Vec<usize>,
    /// Value on rank 0, and on the first of `ranks`.
    pub values: [String; 2],
}

impl<E> From<E> for RanksError<E> {
    fn from(error: E) -> Self {
        Self::Device(error)
    }
}

impl<E: Error> Error for RanksError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(error) => error.kind(),
            Self::Group(error) => error.kind(),
            Self::Desync(_) | Self::Gradient { .. } => ErrorKind::Mismatch,
            Self::Mismatch(error) => error.kind(),
            Self::Operands(error) => error.kind(),
            Self::Indivisible(_) | Self::WholeTensors(_) => ErrorKind::Unsupported,
            Self::NotAveraged => ErrorKind::InvalidArgument,
        }
    }
}
