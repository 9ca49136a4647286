//! Errors in terms every backend shares.

use std::convert::Infallible;

/// What went wrong, stripped of everything a backend adds.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ErrorKind {
    /// The device is gone, or never answered.
    DeviceLost,
    /// A buffer was asked for that does not fit.
    OutOfMemory,
    /// Two sets, shapes or element types that must agree do not.
    Mismatch,
    /// A value outside what the operation is defined for.
    InvalidArgument,
    /// This backend cannot do this.
    Unsupported,
    /// None of the above; the error itself has the details.
    Other,
}

/// An error that generic code can sort by kind.
///
/// # For implementers
///
/// * `Unsupported` is for what a device cannot do, and for nothing else: callers go another way there, and the kit counts a
///   skip.
/// * What does not fit together is `Mismatch`, and a value that is wrong by itself `InvalidArgument`: these say that the
///   caller can mend it.
/// * An error that wraps another has its kind.
pub trait Error: std::error::Error + Send + Sync + 'static {
    /// The kind callers may branch on.
    fn kind(&self) -> ErrorKind;
}

impl Error for Infallible {
    fn kind(&self) -> ErrorKind {
        match *self {}
    }
}
