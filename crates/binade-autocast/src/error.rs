//! Errors of casts of operands.

use binade_cast_policy::{PolicyError, Site};
use binade_core::{DType, Error, ErrorKind};

/// Reason why operands could not be cast: the policy refused, or the device failed.
#[derive(Debug, thiserror::Error)]
pub enum CastError<E: Error> {
    /// Refusal: the policy bans the operation, does not know it, or cannot promote its operands.
    #[error(transparent)]
    Refused(#[from] PolicyError),
    /// Cast that the device could not do.
    #[error("casting operand {operand} of {site} from {from_dtype} to {to_dtype}: {source}")]
    Device {
        /// Operation, and its place.
        site: Site,
        /// Index of the operand.
        operand: usize,
        /// Type of the operand.
        from_dtype: DType,
        /// Type asked for.
        to_dtype: DType,
        /// Error of the device.
        source: E,
    },
}

impl<E: Error> Error for CastError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(refusal) => refusal.kind(),
            Self::Device { source, .. } => source.kind(),
        }
    }
}
