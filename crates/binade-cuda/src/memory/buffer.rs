//! A buffer of the pool.

use super::Pool;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr};
use std::{fmt, sync::Arc};

/// Device memory that goes back to the pool when it is dropped.
pub(crate) struct Buffer {
    /// Always there until it is dropped.
    slice: Option<CudaSlice<u8>>,
    bytes: usize,
    address: u64,
    pool: Arc<Pool>,
}

impl Buffer {
    /// The first `bytes` of `slice`.
    pub(crate) fn new(
        slice: CudaSlice<u8>,
        bytes: usize,
        stream: &CudaStream,
        pool: Arc<Pool>,
    ) -> Self {
        let (address, _) = slice.device_ptr(stream);
        Self { slice: Some(slice), bytes, address, pool }
    }

    /// Where it is, for as long as it lives.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn view(&self) -> Option<CudaView<'_, u8>> {
        self.slice.as_ref()?.try_slice(..self.bytes)
    }

    pub(crate) fn view_mut(&mut self) -> Option<CudaViewMut<'_, u8>> {
        self.slice.as_mut()?.try_slice_mut(..self.bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(slice) = self.slice.take() {
            self.pool.give(slice);
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes at {:#x})", self.bytes, self.address)
    }
}
