//! Owners of memory that tensors lie in and that this crate has not allocated.

use crate::capture::Gate;
use cudarc::driver::{CudaStream, DriverError};
use std::{any::Any, fmt, sync::Arc};

/// Owner of adopted memory. It is dropped once the owner's stream waits for the handle's work.
pub(crate) struct Lender {
    /// Stream of the handle.
    pub(crate) ours: Arc<CudaStream>,
    /// Stream of the owner.
    pub(crate) theirs: Arc<CudaStream>,
    /// Gate of the handle's stream.
    pub(crate) gate: Arc<Gate>,
    /// True if tensors in the memory may be written to.
    pub(crate) is_writable: bool,
    pub(crate) owner: Box<dyn Any + Send + Sync>,
}

impl Lender {
    /// Makes the owner's stream wait for the handle's work.
    pub(crate) fn follow(&self) -> Result<(), DriverError> {
        if self.ours == self.theirs { Ok(()) } else { self.theirs.join(&self.ours) }
    }

    /// Gives the memory back to its owner. If `followed` is an error, it is unknown when the memory is free, and the owner is leaked.
    pub(crate) fn give_back(self, followed: Result<(), DriverError>) {
        if followed.is_err() {
            std::mem::forget(self.owner);
        }
    }
}

impl fmt::Debug for Lender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lender").field("is_writable", &self.is_writable).finish_non_exhaustive()
    }
}
