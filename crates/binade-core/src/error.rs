//! Errors in terms that every backend shares.

use std::convert::Infallible;

/// Kind of an error, without a backend's details.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ErrorKind {
    /// Device that is gone, or never answered.
    DeviceLost,
    /// Buffer that does not fit into memory.
    OutOfMemory,
    /// Sets, shapes or element types that must agree and do not.
    Mismatch,
    /// Value outside the operation's domain.
    InvalidArgument,
    /// Operation that this backend cannot do.
    Unsupported,
    /// Any other error; the error itself has the details.
    Other,
}

/// Error with a kind that generic code can match on.
///
/// # For implementers
///
/// * `Unsupported` is for what a device cannot do, and for nothing else: callers go another way there, and the kit counts a
///   skip.
/// * What does not fit together is `Mismatch`, and a value that is wrong by itself `InvalidArgument`: these say that the
///   caller can mend it.
/// * An error that wraps another has its kind.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not implement `binade_core::Error`",
    label = "this error has no kind",
    note = "implement `std::error::Error`, and `binade_core::Error` with its one method, `kind`; a tensor whose only error is a type that \
            it cannot hold takes `HostTypeError`, and one that never fails `Infallible`"
)]
pub trait Error: std::error::Error + Send + Sync + 'static {
    /// Returns the kind of the error, for callers to branch on.
    fn kind(&self) -> ErrorKind;
}

impl Error for Infallible {
    fn kind(&self) -> ErrorKind {
        match *self {}
    }
}
