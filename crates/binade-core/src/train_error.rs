//! Errors that training has on every device, in the same words.

use crate::{Error, ErrorKind, MatchError, OrderError};
use std::{any, sync::Arc};

/// Error that training has on every device, in the same words; a device's own error holds it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrainError {
    /// Step without any gradient.
    #[error(
        "no gradient came for any of {parameters} parameters, so there is nothing to step with: run backward on a loss that \
         depends on them, and hand its gradients over; if the layers were built before `initialize`, build them over `optimizer.params`"
    )]
    NoGradients {
        /// Number of parameters that wanted one.
        parameters: usize,
    },
    /// Training loop that uses its scaler wrongly.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// Sets that disagree about a parameter.
    #[error(transparent)]
    Match(#[from] MatchError),
    /// Optional method of a trait that the device leaves out.
    #[error(
        "`{device}` does not implement the optional `{method}`: go without it, or use a device that implements it"
    )]
    Unsupported {
        /// Type of the device.
        device: &'static str,
        /// Name of the trait and its method.
        method: &'static str,
    },
    /// Unsupported sparse gradient: the rule or the store cannot step single rows, or the device takes only dense gradients.
    #[error(
        "`{parameter}`: its gradient is sparse, and {why}; by `embedding` in place of `embedding_sparse` it is a whole one"
    )]
    SparseStep {
        /// Name of the parameter.
        parameter: Arc<str>,
        /// Reason for the refusal.
        why: &'static str,
    },
    /// Limit of a clipping group that is not a positive number.
    #[error("clip_groups: group {group} has a limit of {max}, takes a positive number")]
    ClipLimit {
        /// Place of the group, from 0.
        group: usize,
        /// Limit that was given.
        max: f32,
    },
    /// Parameter with two clipping groups, or twice in one.
    #[error("clip_groups: `{parameter}` is named twice; a parameter belongs to one group at most")]
    ClipTwice {
        /// Name of the parameter.
        parameter: String,
    },
    /// Parameter of a clipping group that the set does not list.
    #[error(
        "clip_groups: a group names `{parameter}`, which is not among the gradients; correct the name, or leave it out"
    )]
    ClipUnknown {
        /// Name of the parameter.
        parameter: String,
    },
}

impl TrainError {
    /// Returns the error of an optional `method` that the device `D` leaves out. Provided methods of traits return it.
    pub fn unsupported<D: ?Sized>(method: &'static str) -> Self {
        Self::Unsupported { device: any::type_name::<D>(), method }
    }
}

impl Error for TrainError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Order(error) => error.kind(),
            Self::Match(error) => error.kind(),
            Self::Unsupported { .. } | Self::SparseStep { .. } => ErrorKind::Unsupported,
            Self::NoGradients { .. } | Self::ClipLimit { .. } => ErrorKind::InvalidArgument,
            Self::ClipTwice { .. } | Self::ClipUnknown { .. } => ErrorKind::Mismatch,
        }
    }
}
