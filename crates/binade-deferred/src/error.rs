//! Errors of a device that runs late.

use binade_core::ErrorKind;

/// Reason why a call was refused at once, or why the computation of a value failed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// Error of the CPU, in its own words.
    #[error(transparent)]
    Cpu(#[from] binade_cpu::Error),
    /// A read outside a window, on a strict device.
    #[error(
        "`{call}` would wait for the device outside a window: keep the value there, look at it by `resolve()`, \
         or say that waiting is meant with `let _window = device.window();`"
    )]
    Refused {
        /// Name of the call that would have read.
        call: &'static str,
    },
    /// A value of another device, which has not been run.
    #[error(
        "a value of another deferred device, which has not computed it: use one device, and clones of it"
    )]
    Foreign,
}

impl binade_core::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Cpu(error) => error.kind(),
            Self::Refused { .. } => ErrorKind::Unsupported,
            Self::Foreign => ErrorKind::Mismatch,
        }
    }
}

/// Shape rules are shared by all devices.
impl From<binade_ops::ShapeError> for Error {
    fn from(error: binade_ops::ShapeError) -> Self {
        Self::Cpu(error.into())
    }
}

/// Rules of element types are shared by all devices.
impl From<binade_ops::OperandError> for Error {
    fn from(error: binade_ops::OperandError) -> Self {
        Self::Cpu(error.into())
    }
}
