//! Tensors of this crate, handed to other libraries by DLPack.
#![expect(unsafe_code, reason = "a function that C calls")]

use super::{Device, ElementType, ManagedTensor, READ_ONLY, Tensor as DlTensor, Version};
use crate::{AdoptError, Cuda, Error, Tensor};
use cudarc::driver::CudaStream;
use std::{ffi::c_void, ptr::NonNull, sync::Arc};

/// State that an exported tensor keeps until its deleter is called.
struct Exported {
    cuda: Cuda,
    tensor: Tensor,
    to: Arc<CudaStream>,
    shape: Vec<i64>,
}

impl Cuda {
    /// Hands a tensor to another library by DLPack, to be read in that library's stream `to`. It is marked [`READ_ONLY`].
    ///
    /// # Contract
    ///
    /// Nothing is copied. Later work of `to` runs after this handle's work so far. The structure keeps a clone of the tensor until its deleter is
    /// called, on any thread; this handle's later work then waits for the work of `to` so far.
    ///
    /// # Errors
    ///
    /// The errors of [`lend`](Self::lend), and [`Error::Unsupported`] for a type that DLPack does not have.
    pub fn to_dlpack(
        &self,
        tensor: &Tensor,
        to: &Arc<CudaStream>,
    ) -> Result<NonNull<ManagedTensor>, Error> {
        let dtype = ElementType::of(tensor.dtype());
        let dtype = dtype.ok_or(Error::Unsupported { what: "hand out", dtype: tensor.dtype() })?;
        let part = "extents";
        let shape: Result<Vec<i64>, _> = tensor.shape().iter().map(|it| (*it).try_into()).collect();
        let axes = i32::try_from(tensor.shape().len());
        let (Ok(shape), Ok(ndim)) = (shape, axes) else {
            let found = format!("{:?}", tensor.shape());
            return Err(
                AdoptError::DlPack { part, found, needed: "63 bits are taken" }.of("to_dlpack")
            );
        };
        self.lends_to("to_dlpack", tensor, to)?;
        let (cuda, tensor, to) = (self.clone(), tensor.clone(), to.clone());
        let device = Device {
            kind: Device::CUDA,
            id: i32::try_from(to.context().ordinal()).unwrap_or(i32::MAX),
        };
        let mut exported = Box::new(Exported { cuda, tensor, to, shape });
        let tensor = DlTensor {
            data: exported.tensor.address() as *mut c_void,
            device,
            ndim,
            dtype,
            shape: exported.shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let managed = ManagedTensor {
            version: Version::WRITTEN,
            manager: Box::into_raw(exported).cast(),
            deleter: Some(delete),
            flags: READ_ONLY,
            tensor,
        };
        Ok(NonNull::from(Box::leak(Box::new(managed))))
    }
}

/// Releases a tensor that [`Cuda::to_dlpack`] exported.
///
/// # Safety
///
/// `managed` is of `to_dlpack`, and this is called once.
unsafe extern "C" fn delete(managed: *mut ManagedTensor) {
    // SAFETY: both were boxes that `to_dlpack` has turned into pointers, and the caller calls this once.
    let exported = unsafe { Box::from_raw(Box::from_raw(managed).manager.cast::<Exported>()) };
    if exported.cuda.wait_for(&exported.to).is_err() {
        // The tensor is leaked, since nothing orders the next use of its memory behind the reader.
        std::mem::forget(exported);
    }
}
