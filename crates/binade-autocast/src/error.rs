//! Why operands could not be cast.

use binade_cast_policy::{Refusal, Site};
use binade_core::{DType, Error, ErrorKind};

/// Why operands could not be cast: the policy refused, or the device failed.
#[derive(Debug, thiserror::Error)]
pub enum CastError<E: Error> {
    /// The policy bans the operation, does not know it, or cannot promote its operands.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The device could not cast.
    #[error("casting operand {operand} of {site} from {from_dtype} to {to_dtype}: {source}")]
    Device {
        /// Which operation, and where.
        site: Site,
        /// Which operand.
        operand: usize,
        /// Its type.
        from_dtype: DType,
        /// The type asked for.
        to_dtype: DType,
        /// What the device said.
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
