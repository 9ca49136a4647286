//! cuDNN: descriptors by handle, the workspace of a problem, and the convolution as work of a stream.
//!
//! This stand-in is stricter than NVIDIA's library. It refuses, with a line on standard error: sums by atomics, conversion of f32
//! to sixteen bits, reads beyond an allocation, misaligned addresses, and a convolution whose workspace was not asked for or is
//! too small.

mod convolution;
mod descriptors;
mod problem;
mod status;

use std::collections::BTreeSet;

use super::{Driver, Handle, table::Table, tell};
pub(crate) use convolution::{Call, Convolution};
pub(crate) use descriptors::{How, Moves, Tensor};
pub(crate) use problem::{Descriptors, Pass};
pub(crate) use status::{Result, Status};

/// Settings of a handle, and the problems asked about.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Stream of the handle; `None` until it is set. The default stream is not taken instead.
    stream: Option<Handle>,
    /// Hashes of the problems whose workspace was asked for.
    asked: BTreeSet<u64>,
}

/// Objects of the library by handle. A descriptor is `None` until it is set.
#[derive(Debug)]
pub(crate) struct Dnn {
    pub(crate) handles: Table<Told>,
    pub(crate) tensors: Table<Option<Tensor>>,
    pub(crate) filters: Table<Option<Tensor>>,
    pub(crate) hows: Table<How>,
}

impl Default for Dnn {
    fn default() -> Self {
        Self {
            handles: Table::new(14),
            tensors: Table::new(15),
            filters: Table::new(16),
            hows: Table::new(17),
        }
    }
}

impl Driver {
    /// Creates a handle. It takes device memory, which a capturing thread may not.
    pub(crate) fn dnn_create(&mut self) -> Result<Handle> {
        self.context().map_err(|_| Status::NotInitialized)?;
        self.refuse_while_capturing().map_err(|_| Status::DeviceAllocationFailed)?;
        Ok(self.dnn.handles.insert(Told::default()))
    }

    /// Sets the handle's stream, which must be of the thread's context.
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
