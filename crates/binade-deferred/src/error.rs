//! What can go wrong on a device that runs late.

use binade_core::ErrorKind;

/// Why a call was refused at once, or what a value turned out to be when it was computed.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// The CPU's own, in its own words.
    #[error(transparent)]
    Cpu(#[from] binade_cpu::Error),
    /// A read that nobody announced, on a strict device.
    #[error(
        "`{call}` would wait for the device outside a window: keep the value there, look at it by `resolve()`, \
         or say that waiting is meant with `let _window = device.window();`"
    )]
    Refused {
        /// The call that would have read.
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

/// So are those of element types.
impl From<binade_ops::OperandError> for Error {
    fn from(error: binade_ops::OperandError) -> Self {
        Self::Cpu(error.into())
    }
}
