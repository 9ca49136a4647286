//! Status codes of cuDNN's functions: `cudnnStatus_t` of cuDNN 9.

use crate::driver::code::Code;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i32)]
pub(crate) enum Status {
    NotInitialized = 1001,
    BadParam = 2000,
    MisalignedPointer = 2003,
    SizeInsufficient = 2006,
    StreamMismatch = 2007,
    ShapeMismatch = 2008,
    NotSupported = 3000,
    ArchMismatch = 3007,
    NotSupportedPadding = 3011,
    InternalError = 4000,
    DeviceAllocationFailed = 4004,
    ExecutionFailed = 5000,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Status>;

/// Maps a handle that no table has, or an unexpected null, to `BadParam`.
impl From<Code> for Status {
    fn from(_: Code) -> Self {
        Self::BadParam
    }
}
