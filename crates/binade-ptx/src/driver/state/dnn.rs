//! cuDNN: descriptors by handle, the workspace of a problem, and the convolution as work of a stream.
//!
//! This stand-in is stricter than NVIDIA's library. It refuses, with a line on standard error: sums by atomics, conversion of f32 to sixteen bits,
//! reads beyond an allocation, misaligned addresses, and a convolution whose workspace size was not queried or is too small.

mod convolution;
mod descriptors;
mod problem;

use std::collections::BTreeSet;

use super::{Driver, Handle, table::Table, tell};
use crate::driver::code::Code;
pub(crate) use convolution::{Call, Convolution};
pub(crate) use descriptors::{ConvolutionSettings, Tensor};
pub(crate) use problem::{Descriptors, Pass};

/// Settings of a handle, and the queried problems.
#[derive(Debug, Default)]
pub(crate) struct HandleState {
    /// Stream of the handle; `None` until it is set. The default stream is not used instead.
    stream: Option<Handle>,
    /// Hashes of the problems whose workspace size was queried.
    asked: BTreeSet<u64>,
}

/// Objects of the library by handle. A descriptor is `None` until it is set.
#[derive(Debug, Default)]
pub(crate) struct Dnn {
    pub(crate) handles: Table<HandleState, 14>,
    pub(crate) tensors: Table<Option<Tensor>, 15>,
    pub(crate) filters: Table<Option<Tensor>, 16>,
    pub(crate) convolutions: Table<ConvolutionSettings, 17>,
}

impl Driver {
    /// Creates a handle. It allocates device memory, which a capturing thread must not.
    pub(crate) fn dnn_create(&mut self) -> Result<Handle> {
        self.context().map_err(|_| Status::NotInitialized)?;
        self.refuse_while_capturing().map_err(|_| Status::DeviceAllocationFailed)?;
        Ok(self.dnn.handles.insert(HandleState::default()))
    }

    /// Sets the handle's stream, which must belong to the thread's context.
    pub(crate) fn dnn_set_stream(&mut self, handle: Handle, stream: Handle) -> Result {
        let of = self.stream_context(stream)?;
        if of != self.context()? {
            tell("cuDNN: a stream of another context than the thread's");
            return Err(Status::StreamMismatch);
        }
        self.dnn.handles.get_mut(handle)?.stream = Some(stream);
        Ok(())
    }
}

/// Status codes of cuDNN's functions: `cudnnStatus_t` of cuDNN 9.
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
