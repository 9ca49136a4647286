//! Adoption of memory by its address.
#![expect(unsafe_code, reason = "an address says nothing of what lies there")]

use super::Adoption;
use crate::{Cuda, Error, Tensor, memory::Lender};
use binade_core::DType;
use cudarc::driver::{CudaSlice, CudaStream};
use std::{mem::ManuallyDrop, sync::Arc};

/// Device memory of another program, by its address.
#[derive(Clone, Debug)]
pub struct ForeignMemory {
    /// Address of the first byte.
    pub address: u64,
    /// Number of bytes.
    pub bytes: usize,
    /// Stream in which the program works on the memory; `CudaContext::wrap_borrowed_stream` makes one of a `CUstream`.
    pub stream: Arc<CudaStream>,
    /// True if tensors in it may be written to.
    pub is_writable: bool,
}

impl Cuda {
    /// Adopts memory by its address, as [`adopt`](Self::adopt) and [`adopt_mut`](Self::adopt_mut) adopt a slice. The tensor drops `owner`
    /// with its last clone, when it has put the memory's stream behind this handle's work.
    ///
    /// # Safety
    ///
    /// Until `owner` is dropped, all bytes are valid device memory of the stream's context, which nobody frees or maps anew. If the
    /// memory is writable, no other value relies on its contents.
    ///
    /// # Errors
    ///
    /// As [`adopt`](Self::adopt), and [`AdoptError::Misaligned`](crate::AdoptError::Misaligned) if the address is not a multiple of an element's
    /// size.
    pub unsafe fn adopt_raw(
        &self,
        memory: ForeignMemory,
        dtype: DType,
        shape: &[usize],
        owner: impl Send + Sync + 'static,
    ) -> Result<Tensor, Error> {
        let ForeignMemory { address, bytes, stream, is_writable } = memory;
        let owner = || Box::new(owner);
        let adoption = Adoption { address, bytes, stream, is_writable, owner };
        self.adopt_memory("adopt_raw", adoption, dtype, shape)
    }
}

/// Returns memory as a slice that belongs to another owner, so that dropping it does not free the memory.
/// [`Memory`](crate::memory::Memory) and [`Loan`](super::Loan) leak it, which frees what else the slice holds.
pub(crate) fn borrowed<T>(
    stream: &Arc<CudaStream>,
    address: u64,
    len: usize,
) -> ManuallyDrop<CudaSlice<T>> {
    // SAFETY: the caller's owner keeps as many elements there until the slice has been leaked. Elements may be unset: only kernels and copies read
    // device memory, no Rust code does.
    ManuallyDrop::new(unsafe { stream.upgrade_device_ptr(address, len) })
}

/// Returns memory as bytes, which `lender` keeps alive.
pub(crate) fn bytes_of(lender: &Lender, address: u64, bytes: usize) -> ManuallyDrop<CudaSlice<u8>> {
    borrowed(&lender.ours, address, bytes)
}
