//! cuDNN: descriptors by handle, a workspace for a problem, and the convolution as work of a stream.
//!
//! Stricter than NVIDIA's library: what sums by atomics, may convert f32 to sixteen bits, reads beyond an allocation, lies at odd places, or comes
//! without the workspace that was asked for, is refused and told.

mod convolution;
mod descriptors;
mod problem;
mod status;

use std::collections::BTreeSet;

use super::{Driver, Handle, table::Table, tell};
pub(in crate::driver) use convolution::{Call, Convolution};
pub(in crate::driver) use descriptors::{How, Moves, Tensor};
pub(in crate::driver) use problem::{Descriptors, Pass};
pub(in crate::driver) use status::{Result, Status};

/// What a handle has been told, and asked.
#[derive(Debug, Default)]
struct Told {
    /// None where nobody has set one: the default stream is nobody's choice.
    stream: Option<Handle>,
    /// Problems whose workspace somebody asked for.
    asked: BTreeSet<u64>,
}

/// What the library knows. A descriptor is none until it is set.
#[derive(Debug)]
pub(super) struct Dnn {
    handles: Table<Told>,
    tensors: Table<Option<Tensor>>,
    filters: Table<Option<Tensor>>,
    hows: Table<How>,
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
    /// A handle takes memory of the device's, which a thread that captures may not.
    pub(in crate::driver) fn dnn_create(&mut self) -> Result<Handle> {
        self.context().map_err(|_| Status::NotInitialized)?;
        self.refuse_while_capturing().map_err(|_| Status::DeviceAllocationFailed)?;
        Ok(self.dnn.handles.insert(Told::default()))
    }

    pub(in crate::driver) fn dnn_destroy(&mut self, handle: Handle) -> Result {
        self.dnn.handles.remove(handle)?;
        Ok(())
    }

    /// A stream of the thread's context.
    pub(in crate::driver) fn dnn_set_stream(&mut self, handle: Handle, stream: Handle) -> Result {
        let of = self.stream_context(stream)?;
        if of != self.context()? {
            tell("cuDNN: a stream of another context than the thread's");
            return Err(Status::StreamMismatch);
        }
        self.dnn.handles.get_mut(handle)?.stream = Some(stream);
        Ok(())
    }

    pub(in crate::driver) fn dnn_create_tensor(&mut self) -> Handle {
        self.dnn.tensors.insert(None)
    }

    pub(in crate::driver) fn dnn_set_tensor(&mut self, of: Handle, to: Result<Tensor>) -> Result {
        *self.dnn.tensors.get_mut(of)? = Some(to?);
        Ok(())
    }

    pub(in crate::driver) fn dnn_destroy_tensor(&mut self, tensor: Handle) -> Result {
        self.dnn.tensors.remove(tensor)?;
        Ok(())
    }

    pub(in crate::driver) fn dnn_create_filter(&mut self) -> Handle {
        self.dnn.filters.insert(None)
    }

    pub(in crate::driver) fn dnn_set_filter(&mut self, of: Handle, to: Result<Tensor>) -> Result {
        *self.dnn.filters.get_mut(of)? = Some(to?);
        Ok(())
    }

    pub(in crate::driver) fn dnn_destroy_filter(&mut self, filter: Handle) -> Result {
        self.dnn.filters.remove(filter)?;
        Ok(())
    }

    pub(in crate::driver) fn dnn_create_how(&mut self) -> Handle {
        self.dnn.hows.insert(How::default())
    }

    pub(in crate::driver) fn dnn_how(&mut self, how: Handle) -> Result<&mut How> {
        Ok(self.dnn.hows.get_mut(how)?)
    }

    pub(in crate::driver) fn dnn_destroy_how(&mut self, how: Handle) -> Result {
        self.dnn.hows.remove(how)?;
        Ok(())
    }
}
