//! Status codes of cuBLASLt's functions: `cublasStatus_t`.

use crate::driver::code::Code;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i32)]
pub(crate) enum Status {
    NotInitialized = 1,
    AllocFailed = 3,
    InvalidValue = 7,
    ExecutionFailed = 13,
    InternalError = 14,
    NotSupported = 15,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Status>;

/// Maps a handle that no table has, or an unexpected null, to `InvalidValue`.
impl From<Code> for Status {
    fn from(_: Code) -> Self {
        Self::InvalidValue
    }
}
