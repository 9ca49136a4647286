//! Return codes of the driver, with the names and texts of `cuda.h` and of NVIDIA's driver.

use std::ffi::{CStr, c_int};

macro_rules! codes {
    ($($code:ident = $number:literal $name:literal $text:literal)*) => {
        /// Error code of a driver call.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[repr(i32)]
        pub(super) enum Code {
            $($code = $number,)*
        }

        /// Returns the name and the text of a code; 0 is success.
        pub(super) fn words(code: c_int) -> Option<(&'static CStr, &'static CStr)> {
            match code {
                0 => Some((c"CUDA_SUCCESS", c"no error")),
                $($number => Some(($name, $text)),)*
                _ => None,
            }
        }
    };
}

codes! {
    InvalidValue = 1 c"CUDA_ERROR_INVALID_VALUE" c"invalid argument"
    OutOfMemory = 2 c"CUDA_ERROR_OUT_OF_MEMORY" c"out of memory"
    NotInitialized = 3 c"CUDA_ERROR_NOT_INITIALIZED" c"initialization error"
    InvalidDevice = 101 c"CUDA_ERROR_INVALID_DEVICE" c"invalid device ordinal"
    InvalidImage = 200 c"CUDA_ERROR_INVALID_IMAGE" c"device kernel image is invalid"
    InvalidContext = 201 c"CUDA_ERROR_INVALID_CONTEXT" c"invalid device context"
    NoBinaryForGpu = 209 c"CUDA_ERROR_NO_BINARY_FOR_GPU" c"no kernel image is available for execution on the device"
    InvalidPtx = 218 c"CUDA_ERROR_INVALID_PTX" c"a PTX JIT compilation failed"
    InvalidHandle = 400 c"CUDA_ERROR_INVALID_HANDLE" c"invalid resource handle"
    IllegalState = 401 c"CUDA_ERROR_ILLEGAL_STATE" c"the operation cannot be performed in the present state"
    NotFound = 500 c"CUDA_ERROR_NOT_FOUND" c"named symbol not found"
    NotReady = 600 c"CUDA_ERROR_NOT_READY" c"device not ready"
    IllegalAddress = 700 c"CUDA_ERROR_ILLEGAL_ADDRESS" c"an illegal memory access was encountered"
    ContextIsDestroyed = 709 c"CUDA_ERROR_CONTEXT_IS_DESTROYED" c"context is destroyed"
    MisalignedAddress = 716 c"CUDA_ERROR_MISALIGNED_ADDRESS" c"misaligned address"
    LaunchFailed = 719 c"CUDA_ERROR_LAUNCH_FAILED" c"unspecified launch failure"
    NotPermitted = 800 c"CUDA_ERROR_NOT_PERMITTED" c"operation not permitted"
    NotSupported = 801 c"CUDA_ERROR_NOT_SUPPORTED" c"operation not supported"
    CaptureUnsupported = 900 c"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED" c"operation not permitted when stream is capturing"
    CaptureInvalidated = 901 c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" c"operation failed due to a previous error during capture"
    CaptureIsolation = 905 c"CUDA_ERROR_STREAM_CAPTURE_ISOLATION" c"dependency created on uncaptured work in another stream"
    CapturedEvent = 907 c"CUDA_ERROR_CAPTURED_EVENT" c"operation not permitted on an event last recorded in a capturing stream"
    CaptureWrongThread = 908 c"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD" c"attempt to terminate a thread-local capture sequence from another thread"
    Unknown = 999 c"CUDA_ERROR_UNKNOWN" c"unknown error"
}

/// Result of a driver function.
pub(super) type Result<T = ()> = std::result::Result<T, Code>;
