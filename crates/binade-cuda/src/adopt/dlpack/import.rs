//! Adoption of tensors that other libraries hand over by DLPack.
#![expect(unsafe_code, reason = "pointers into another library's structure")]

use super::{Device, LegacyManagedTensor, ManagedTensor, READ_ONLY, Tensor as DlTensor, Version};
use crate::{AdoptError, Cuda, Error, Tensor, adopt::Adoption};
use binade_core::DType;
use cudarc::driver::CudaStream;
use std::{ptr::NonNull, slice, sync::Arc};

/// Structure of DLPack that owns a tensor: of version 1, or the one before it.
pub trait Managed: sealed::Sealed + 'static {}

impl Managed for ManagedTensor {}
impl Managed for LegacyManagedTensor {}

mod sealed {
    use super::{DlTensor, Version};

    pub trait Sealed: Sized {
        /// Returns the version, where the structure has one.
        fn version(&self) -> Version;
        fn flags(&self) -> u64;
        fn tensor(&self) -> &DlTensor;
        fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
    }
}

impl sealed::Sealed for ManagedTensor {
    fn version(&self) -> Version {
        self.version
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

impl sealed::Sealed for LegacyManagedTensor {
    fn version(&self) -> Version {
        Version::WRITTEN
    }

    fn flags(&self) -> u64 {
        0
    }

    fn tensor(&self) -> &DlTensor {
        &self.tensor
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)> {
        self.deleter
    }
}

/// Owner of a structure, whose deleter it calls when it is dropped.
struct Owner<M: Managed>(NonNull<M>);

// SAFETY: the exporter promises that its deleter may be called on any thread, and only the deleter is used.
unsafe impl<M: Managed> Send for Owner<M> {}
// SAFETY: as above; a shared reference gives access to nothing.
unsafe impl<M: Managed> Sync for Owner<M> {}

impl<M: Managed> Drop for Owner<M> {
    fn drop(&mut self) {
        // SAFETY: the structure is valid until its deleter is called; this is the only call.
        unsafe {
            if let Some(deleter) = self.0.as_ref().deleter() {
                deleter(self.0.as_ptr());
            }
        }
    }
}

impl Cuda {
    /// Adopts a tensor from another library by DLPack, as [`adopt`](Self::adopt) and [`adopt_mut`](Self::adopt_mut) adopt a slice. The library's work
    /// on the tensor is in `stream`. When the last clone of the tensor is dropped, `stream` is made to wait for this handle's work, and the
    /// structure's deleter is called. After an error, the caller still owns the structure.
    ///
    /// # Safety
    ///
    /// The structure and what it points to are as `dlpack.h` says, its memory belongs to the primary context of its device, and its
    /// deleter may be called on any thread. The tensor is not used by the caller afterwards. If it is adopted to be written to, no other
    /// value relies on its contents.
    ///
    /// # Errors
    ///
    /// [`AdoptError::DlPack`] for an unsupported part: a device that is not CUDA's, an element type without a [`DType`], vectors (`lanes`), rows that
    /// are not contiguous, a version above 1, or `READ_ONLY` for a tensor to be written to. Also the errors of [`adopt_raw`](Self::adopt_raw).
    pub unsafe fn adopt_dlpack<M: Managed>(
        &self,
        managed: NonNull<M>,
        stream: &Arc<CudaStream>,
        is_writable: bool,
    ) -> Result<Tensor, Error> {
        let refused = |error: AdoptError| error.of("adopt_dlpack");
        // SAFETY: the caller promises that the structure is valid.
        let it = unsafe { managed.as_ref() };
        check_header(it.version(), it.flags(), is_writable).map_err(refused)?;
        // SAFETY: the caller promises that the arrays have `ndim` numbers.
        let (dtype, shape) = unsafe { layout(it.tensor()) }.map_err(refused)?;
        let (found, device) = (it.tensor().device.id, stream.context().ordinal());
        if usize::try_from(found) != Ok(device) {
            let found = usize::try_from(found).unwrap_or(usize::MAX);
            return Err(refused(AdoptError::Device { found, device }));
        }
        let address = it.tensor().data as u64 + it.tensor().byte_offset;
        let bytes = binade_gpu::Driver::tensor_bytes(self, dtype, &shape)?;
        let (stream, owner) = (stream.clone(), move || Box::new(Owner(managed)));
        let adoption = Adoption { address, bytes, stream, is_writable, owner };
        self.adopt_memory("adopt_dlpack", adoption, dtype, &shape)
    }
}

/// Returns the error of a part of the structure.
fn part(part: &'static str, found: &impl ToString, needed: &'static str) -> AdoptError {
    AdoptError::DlPack { part, found: found.to_string(), needed }
}

fn check_header(version: Version, flags: u64, is_writable: bool) -> Result<(), AdoptError> {
    if version.major != Version::WRITTEN.major {
        return Err(part("the major version", &version.major, "1 is read"));
    }
    if is_writable && flags & READ_ONLY != 0 {
        return Err(part(
            "`flags`",
            &format!("{flags:#x}"),
            "a tensor that is read only is not written to",
        ));
    }
    Ok(())
}

/// Returns the element type and shape of a contiguous tensor.
///
/// # Safety
///
/// `shape`, and `strides` unless it is null, point to `ndim` numbers.
unsafe fn layout(tensor: &DlTensor) -> Result<(DType, Vec<usize>), AdoptError> {
    if tensor.device.kind != Device::CUDA {
        return Err(part("`device_type`", &tensor.device.kind, "2, CUDA, is taken"));
    }
    let known = "bf16, f16, f32, e4m3, e5m2 and i64 are taken, one lane each";
    let dtype = tensor.dtype.dtype();
    let dtype = dtype.ok_or_else(|| part("`dtype`", &format!("{:?}", tensor.dtype), known))?;
    let axes = usize::try_from(tensor.ndim);
    let axes = axes.map_err(|_| part("`ndim`", &tensor.ndim, "a number of axes is 0 or more"))?;
    let numbers = |at: *mut i64| match axes {
        0 => &[][..],
        // SAFETY: the caller promises as many numbers.
        _ => unsafe { slice::from_raw_parts(at, axes) },
    };
    let extents = numbers(tensor.shape);
    let shape = extents.iter().map(|extent| usize::try_from(*extent)).collect::<Result<_, _>>();
    let shape: Vec<usize> =
        shape.map_err(|_| part("`shape`", &format!("{extents:?}"), "extents are 0 or more"))?;
    if !tensor.strides.is_null() && !is_row_major(&shape, numbers(tensor.strides)) {
        let found = format!("{:?} of shape {shape:?}", numbers(tensor.strides));
        return Err(part("`strides`", &found, "make the tensor contiguous first"));
    }
    Ok((dtype, shape))
}

/// Returns true if the rows are contiguous. The step of an axis with one element does not matter.
fn is_row_major(shape: &[usize], strides: &[i64]) -> bool {
    let mut step = 1_usize;
    let mut axes = shape.iter().zip(strides).rev();
    let lies = axes.all(|(extent, stride)| {
        let lies = *extent == 1 || usize::try_from(*stride) == Ok(step);
        step = step.saturating_mul(*extent);
        lies
    });
    lies || shape.contains(&0)
}
