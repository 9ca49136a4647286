//! Memory of candle's tensors, adopted by its address.
#![expect(
    unsafe_code,
    reason = "candle lends a slice only behind a lock, and no value can hold that lock"
)]

use crate::Error;
use binade_core::{DType, Element};
use binade_cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use binade_cuda::{Cuda, ForeignMemory};
use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::{Layout, Storage, Tensor};
use std::sync::Arc;

/// Place of a tensor's elements in device memory.
pub(super) struct Place {
    pub(super) address: u64,
    bytes: usize,
    dtype: DType,
    pub(super) stream: Arc<CudaStream>,
}

impl Place {
    /// Returns the place of a tensor's elements.
    pub(super) fn of_tensor(name: &Arc<str>, tensor: &Tensor) -> Result<Self, Error> {
        let (storage, layout) = tensor.storage_and_layout();
        Self::of(name, &storage, layout)
    }

    /// Returns the place of a tensor's elements, whose storage is locked.
    pub(super) fn of(name: &Arc<str>, storage: &Storage, layout: &Layout) -> Result<Self, Error> {
        let name = || name.clone();
        let Storage::Cuda(storage) = storage else {
            return Err(Error::NotOnCuda { name: name() });
        };
        let range = layout.contiguous_offsets().ok_or_else(|| Error::Strided { name: name() })?;
        match &storage.slice {
            CudaStorageSlice::BF16(slice) => Ok(Self::within(slice, range)),
            CudaStorageSlice::F16(slice) => Ok(Self::within(slice, range)),
            CudaStorageSlice::F32(slice) => Ok(Self::within(slice, range)),
            _ => Err(Error::Untrainable { name: name(), dtype: storage.dtype() }),
        }
    }

    fn within<T: Element>(slice: &CudaSlice<T>, (start, end): (usize, usize)) -> Self {
        assert!(start <= end && end <= slice.len(), "{start}..{end} of {}", slice.len());
        let (address, _) = slice.device_ptr(slice.stream());
        let size = T::DTYPE.bytes();
        Self {
            address: address + (start * size) as u64,
            bytes: (end - start) * size,
            dtype: T::DTYPE,
            stream: slice.stream().clone(),
        }
    }
}

/// Adopts a tensor of candle's where it lies.
pub(super) fn adopt(
    cuda: &Cuda,
    name: &Arc<str>,
    tensor: &Tensor,
    is_writable: bool,
) -> Result<binade_cuda::Tensor, Error> {
    let Place { address, bytes, dtype, stream } = Place::of_tensor(name, tensor)?;
    let memory = ForeignMemory { address, bytes, stream, is_writable };
    // SAFETY: the clone keeps the storage, in which the elements have these bytes (asserted). candle frees a storage's slice with the storage
    // alone: `Var::set` and its operations in place write into the slice that is there. A step looks for it there under the lock. Nothing
    // relies on a parameter's contents, which candle's `Var`s change the same way.
    Ok(unsafe { cuda.adopt_raw(memory, dtype, tensor.dims(), tensor.clone()) }?)
}
