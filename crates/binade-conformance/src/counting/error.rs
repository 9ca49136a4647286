//! Errors of a counted device.

use binade_core::{Error, ErrorKind};
use std::panic::Location;

/// Error of the wrapped device, or the refusal of a read.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CountingError<E> {
    /// Error of the wrapped device, with its message.
    #[error(transparent)]
    Device(#[from] E),
    /// Read outside a window, on a strict device.
    #[error(
        "`{method}` at {place} would wait for the device outside a window: keep the value there, look at it by `resolve()`, \
         or say that waiting is meant with `let _window = device.window();`"
    )]
    Refused {
        /// Name of the method that would have read.
        method: &'static str,
        /// Line that called the method.
        place: &'static Location<'static>,
    },
}

impl<E: Error> Error for CountingError<E> {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Device(error) => error.kind(),
            Self::Refused { .. } => ErrorKind::Unsupported,
        }
    }
}
