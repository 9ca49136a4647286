//! Memory of candle's tensors, adopted by address.
#![expect(
    unsafe_code,
    reason = "candle lends a slice only behind a lock, and no value can hold that lock"
)]

use super::CudaOptimizer;
use crate::params::{require_parameters, untied};
use crate::{Error, candle_dtype};
use binade_core::{DType, Element, Named, NamedGrads};
use binade_cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use binade_cuda::{Cuda, ForeignMemory, Gradients};
use binade_master_weights::{MasterOptimizer, OptimizerConfig};
use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::{Layout, Storage, Tensor, Var};
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
    fn of_tensor(name: &Arc<str>, tensor: &Tensor) -> Result<Self, Error> {
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

impl CudaOptimizer {
    /// Creates the optimizer, with masters and moments, of `params`, all of them `Var`s on the device of `cuda`.
    ///
    /// # Safety
    ///
    /// No operation replaces the memory of these `Var`s, or of those of [`vars`](Self::vars), while the optimizer or a tensor of its
    /// [`inner`](Self::inner) is alive. candle's own in-place operations and `Var::set` write into the existing memory. A program's own `InplaceOp1`
    /// replaces the memory if it assigns `CudaStorage::slice`.
    ///
    /// # Errors
    ///
    /// If there are no parameters, two are the same, or one is no `Var`, not on that device or not contiguous; if the device fails.
    pub unsafe fn new(
        cuda: &Cuda,
        params: &[Named<Tensor>],
        config: OptimizerConfig,
    ) -> Result<Self, Error> {
        require_parameters(params)?;
        untied(params)?;
        let mut adopted = Vec::new();
        for Named { name, value } in params {
            if !value.is_variable() {
                return Err(Error::NotVar { name: name.clone() });
            }
            // SAFETY: the caller promises that the memory is not replaced.
            let tensor = unsafe { adopt(cuda, name, value, true) }?;
            let stays = config.dtype_of(name, tensor.dtype()) == tensor.dtype();
            let tensor = if stays { tensor } else { cuda.duplicate(&tensor)? };
            adopted.push(Named::new(name.clone(), tensor));
        }
        let mut inner = MasterOptimizer::new(cuda.clone(), adopted, config)?;
        let mut vars = params.to_vec();
        for (var, param) in vars.iter_mut().zip(&mut inner.params) {
            let stored = candle_dtype(param.value.dtype())?;
            if stored != var.value.dtype() {
                let shape = var.value.shape();
                var.value = Var::zeros(shape, stored, var.value.device())?.into_inner();
                // SAFETY: the caller promises that the memory is not replaced.
                let low = unsafe { adopt(cuda, &var.name, &var.value, true) }?;
                cuda.copy_into(&param.value, &low)?;
                cuda.precede(&Place::of_tensor(&var.name, &var.value)?.stream)?;
                param.value = low;
            }
        }
        Ok(Self { vars, inner, cuda: cuda.clone() })
    }
}

/// Adopts candle's gradients from [`backward`](crate::backward) in place. candle first copies a gradient that is not contiguous.
///
/// # Safety
///
/// No operation replaces the memory of these gradients while an adopted tensor is alive; see [`CudaOptimizer::new`].
///
/// # Errors
///
/// [`Error::NotOnCuda`] or [`Error::Untrainable`] for a gradient that `binade-cuda` does not take; if the device fails.
pub unsafe fn adopt_grads(cuda: &Cuda, grads: &NamedGrads<Tensor>) -> Result<Gradients, Error> {
    let one = |Named { name, value }: &Named<Option<Tensor>>| {
        let adopt = |grad: &Tensor| {
            let grad = grad.contiguous()?;
            // SAFETY: the caller promises that the memory is not replaced.
            unsafe { adopt(cuda, name, &grad, false) }
        };
        Ok(Named::new(name.clone(), value.as_ref().map(adopt).transpose()?))
    };
    Ok(grads.iter().map(one).collect::<Result<Vec<_>, Error>>()?.into())
}

/// Adopts candle's tensor in place.
///
/// # Safety
///
/// No operation replaces the tensor's memory while the adopted tensor is alive.
unsafe fn adopt(
    cuda: &Cuda,
    name: &Arc<str>,
    tensor: &Tensor,
    is_writable: bool,
) -> Result<binade_cuda::Tensor, Error> {
    let Place { address, bytes, dtype, stream } = Place::of_tensor(name, tensor)?;
    let memory = ForeignMemory { address, bytes, stream, is_writable };
    // SAFETY: the clone keeps the storage alive, in which the elements have these bytes (asserted). candle frees the slice only with its storage, and
    // the caller promises that no operation replaces the slice. Nothing relies on a parameter's contents, which candle's `Var`s change the same way.
    Ok(unsafe { cuda.adopt_raw(memory, dtype, tensor.dims(), tensor.clone()) }?)
}
