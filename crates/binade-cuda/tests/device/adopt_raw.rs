//! Memory of other programs by its address, and by DLPack.
#![expect(unsafe_code, reason = "a stranger's addresses")]

use crate::{
    adopt::{refusal, theirs},
    support::{Result, own, vector},
};
use binade_core::DType;
use binade_core::ops::{Add, Download};
use binade_cuda::cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use binade_cuda::dlpack::{
    Device, ElementType, LegacyManagedTensor, ManagedTensor, READ_ONLY, Tensor as DlTensor, Version,
};
use binade_cuda::{AdoptError, Cuda, Error, ForeignMemory, Tensor};
use std::ptr::{NonNull, null_mut};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

crate::tests![
    memory_is_adopted_by_its_address,
    work_on_memory_is_behind_the_stream_that_is_named_for_it,
    work_on_a_slice_is_behind_every_stream_whose_events_it_has,
    a_misaligned_address_is_refused,
    a_dlpack_tensor_is_adopted_and_deleted_once,
    a_dlpack_tensor_before_version_1_is_adopted,
    dlpack_tensors_that_do_not_fit_are_refused_and_stay_their_owners,
    steps_of_an_axis_with_one_element_do_not_matter,
    a_tensor_handed_out_by_dlpack_is_adopted_by_another_handle,
];

/// Returns the address of a slice that nobody drops meanwhile.
fn address(slice: &CudaSlice<f32>, stream: &CudaStream) -> u64 {
    slice.device_ptr(stream).0
}

fn memory_is_adopted_by_its_address() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?);
    let address = address(&slice, &stream) + 4;
    let memory = ForeignMemory { address, bytes: 12, stream: stream.clone(), is_writable: true };
    // SAFETY: the slice has as many bytes there, and is the owner.
    let tensor = unsafe { cuda.adopt_raw(memory.clone(), DType::F32, &[3], slice.clone()) }?;
    assert_eq!(cuda.download(&tensor)?, [2.0, 3.0, 4.0]);
    cuda.write(&tensor, &[5.0, 6.0, 7.0])?;
    drop(tensor);
    assert_eq!(stream.clone_dtoh(&*slice)?, [1.0, 5.0, 6.0, 7.0]);
    assert_eq!(Arc::strong_count(&slice), 1);
    // SAFETY: as above.
    let long = unsafe { cuda.adopt_raw(memory, DType::F32, &[4], slice) };
    assert!(matches!(long, Err(Error::Length { found: 3, expected: 4, .. })), "{long:?}");
    Ok(())
}

/// The stream's copy is from pinned memory, so that the interpreter has not made it yet when the tensor is adopted.
fn work_on_memory_is_behind_the_stream_that_is_named_for_it() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let other = Cuda::on(stream.clone())?;
    let slice = Arc::new(stream.clone_htod(&[1.0_f32; 100])?);
    let there = other.adopt_mut(slice.clone(), &[100])?;
    let address = address(&slice, &stream);
    other.write(&there, &[2.0; 100])?;
    let memory = ForeignMemory { address, bytes: 400, stream, is_writable: false };
    // SAFETY: the slice has as many bytes there, and is the owner.
    let tensor = unsafe { cuda.adopt_raw(memory, DType::F32, &[100], slice) }?;
    assert_eq!(cuda.download(&cuda.add(&tensor, &tensor)?)?, [4.0; 100]);
    Ok(())
}

/// cudarc records an event where it writes to a slice, in whatever stream.
fn work_on_a_slice_is_behind_every_stream_whose_events_it_has() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let third = stream.context().new_stream()?;
    let mut slice = stream.clone_htod(&[1.0_f32; 100])?;
    // SAFETY: its elements are written before they are read, by the next line.
    let mut pinned = unsafe { stream.context().alloc_pinned::<f32>(100) }?;
    pinned.as_mut_slice()?.fill(2.0);
    third.memcpy_htod(&pinned, &mut slice)?;
    let tensor = cuda.adopt(slice, &[100])?;
    assert_eq!(cuda.download(&cuda.add(&tensor, &tensor)?)?, [4.0; 100]);
    Ok(())
}

fn a_misaligned_address_is_refused() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let slice = Arc::new(stream.clone_htod(&[1.0_f32, 2.0, 3.0, 4.0])?);
    for (dtype, off, is_fine) in [
        (DType::F32, 1, false),
        (DType::F32, 2, false),
        (DType::F16, 1, false),
        (DType::F16, 2, true),
        (DType::I64, 4, false),
        (DType::E4M3, 1, true),
    ] {
        let address = address(&slice, &stream) + off;
        let memory =
            ForeignMemory { address, bytes: 8, stream: stream.clone(), is_writable: false };
        // SAFETY: the slice has as many bytes there, and is the owner.
        let adopted = unsafe { cuda.adopt_raw(memory, dtype, &[1], slice.clone()) };
        if is_fine {
            drop(adopted?);
        } else {
            let why = AdoptError::Misaligned { address, needed: dtype.bytes() };
            assert_eq!(refusal(adopted), why);
        }
    }
    assert_eq!(Arc::strong_count(&slice), 1);
    Ok(())
}

/// Another library's tensor: 2 x 3 elements of `f32` behind one more.
struct Theirs {
    slice: CudaSlice<f32>,
    shape: [i64; 2],
    strides: [i64; 2],
    deleted: Arc<AtomicUsize>,
}

impl Theirs {
    fn new(stream: &Arc<CudaStream>, deleted: &Arc<AtomicUsize>) -> Result<Box<Self>> {
        let slice = stream.clone_htod(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
        let deleted = deleted.clone();
        Ok(Box::new(Self { slice, shape: [2, 3], strides: [3, 1], deleted }))
    }

    fn tensor(&mut self, stream: &CudaStream) -> DlTensor {
        DlTensor {
            data: address(&self.slice, stream) as *mut _,
            device: Device { kind: Device::CUDA, id: 0 },
            ndim: 2,
            dtype: ElementType { code: 2, bits: 32, lanes: 1 },
            shape: self.shape.as_mut_ptr(),
            strides: self.strides.as_mut_ptr(),
            byte_offset: 4,
        }
    }

    fn managed(mut self: Box<Self>, stream: &CudaStream) -> ManagedTensor {
        let tensor = self.tensor(stream);
        let (version, manager) = (Version { major: 1, minor: 0 }, Box::into_raw(self).cast());
        ManagedTensor { version, manager, deleter: Some(delete), flags: 0, tensor }
    }
}

/// # Safety
///
/// `managed` is a leaked box, whose manager is a leaked [`Theirs`].
unsafe extern "C" fn delete(managed: *mut ManagedTensor) {
    // SAFETY: both are leaked boxes, and this is called once.
    let theirs = unsafe { Box::from_raw(Box::from_raw(managed).manager.cast::<Theirs>()) };
    theirs.deleted.fetch_add(1, Ordering::Relaxed);
}

/// # Safety
///
/// As for [`delete`].
unsafe extern "C" fn delete_legacy(managed: *mut LegacyManagedTensor) {
    // SAFETY: both are leaked boxes, and this is called once.
    let theirs = unsafe { Box::from_raw(Box::from_raw(managed).manager.cast::<Theirs>()) };
    theirs.deleted.fetch_add(1, Ordering::Relaxed);
}

fn leaked<M>(managed: M) -> NonNull<M> {
    NonNull::from(Box::leak(Box::new(managed)))
}

fn a_dlpack_tensor_is_adopted_and_deleted_once() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let deleted = Arc::default();
    let managed = leaked(Theirs::new(&stream, &deleted)?.managed(&stream));
    // SAFETY: the structure is as DLPack says.
    let tensor = unsafe { cuda.adopt_dlpack(managed, &stream, true) }?;
    assert_eq!((tensor.dtype(), tensor.shape()), (DType::F32, &[2, 3][..]));
    assert_eq!(cuda.download(&tensor)?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(deleted.load(Ordering::Relaxed), 0);
    drop(tensor);
    assert_eq!(deleted.load(Ordering::Relaxed), 1);
    Ok(())
}

fn a_dlpack_tensor_before_version_1_is_adopted() -> Result {
    let (cuda, stream) = (own(), theirs()?);
    let deleted = Arc::default();
    let mut older = Theirs::new(&stream, &deleted)?;
    let mut tensor = older.tensor(&stream);
    tensor.strides = null_mut();
    let manager = Box::into_raw(older).cast();
    let handed = leaked(LegacyManagedTensor { tensor, manager, deleter: Some(delete_legacy) });
    // SAFETY: the structure is as DLPack says.
    let tensor = unsafe { cuda.adopt_dlpack(handed, &stream, false) }?;
    assert_eq!(cuda.download(&tensor)?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    drop(tensor);
    assert_eq!(deleted.load(Ordering::Relaxed), 1);
    Ok(())
}

/// Change of a structure that makes it unfit.
type Change = fn(&mut ManagedTensor);

fn adopt(cuda: &Cuda, change: Change) -> Result<(Result<Tensor, Error>, usize)> {
    let (stream, deleted) = (theirs()?, Arc::default());
    let mut managed = Theirs::new(&stream, &deleted)?.managed(&stream);
    change(&mut managed);
    let managed = leaked(managed);
    // SAFETY: the structure is as DLPack says, but for what is checked before it is used.
    let adopted = unsafe { cuda.adopt_dlpack(managed, &stream, true) };
    let count = deleted.load(Ordering::Relaxed);
    if adopted.is_err() {
        // SAFETY: it is the caller's still.
        unsafe { delete(managed.as_ptr()) };
    }
    Ok((adopted, count))
}

fn strides(managed: &mut ManagedTensor, strides: [i64; 2]) {
    // SAFETY: there are two axes.
    unsafe { managed.tensor.strides.cast::<[i64; 2]>().write(strides) };
}

fn shape(managed: &mut ManagedTensor, shape: [i64; 2]) {
    // SAFETY: there are two axes.
    unsafe { managed.tensor.shape.cast::<[i64; 2]>().write(shape) };
}

fn dlpack_tensors_that_do_not_fit_are_refused_and_stay_their_owners() -> Result {
    let cuda = own();
    let changes: [(&str, Change); 11] = [
        ("the major version", |it| it.version.major = 2),
        ("`flags`", |it| it.flags = READ_ONLY),
        ("`device_type`", |it| it.tensor.device.kind = 1),
        ("`dtype`", |it| it.tensor.dtype.lanes = 2),
        ("`dtype`", |it| it.tensor.dtype.code = 5),
        ("`dtype`", |it| it.tensor.dtype.bits = 64),
        ("`ndim`", |it| it.tensor.ndim = -1),
        ("`shape`", |it| shape(it, [-1, 3])),
        ("`strides`", |it| strides(it, [1, 2])),
        ("`strides`", |it| strides(it, [4, 1])),
        ("`strides`", |it| strides(it, [-3, 1])),
    ];
    for (want, change) in changes {
        let (adopted, deleted) = adopt(&cuda, change)?;
        match refusal(adopted) {
            AdoptError::DlPack { part, .. } => assert_eq!((part, deleted), (want, 0)),
            other => panic!("{want}: {other}"),
        }
    }
    let (adopted, deleted) = adopt(&cuda, |it| it.tensor.byte_offset = 2)?;
    assert!(matches!(refusal(adopted), AdoptError::Misaligned { needed: 4, .. }));
    assert_eq!(deleted, 0);
    let (adopted, _) = adopt(&cuda, |it| it.tensor.device.id = 1)?;
    assert_eq!(refusal(adopted), AdoptError::Device { found: 1, device: 0 });
    Ok(())
}

fn steps_of_an_axis_with_one_element_do_not_matter() -> Result {
    let cuda = own();
    let one_row: Change = |it| {
        shape(it, [1, 3]);
        strides(it, [77, 1]);
    };
    let (adopted, _) = adopt(&cuda, one_row)?;
    assert_eq!(cuda.download(&adopted?)?, [1.0, 2.0, 3.0]);
    let (adopted, _) = adopt(&cuda, |it| {
        shape(it, [0, 3]);
        strides(it, [9, 9]);
    })?;
    assert!(adopted?.is_empty());
    Ok(())
}

fn a_tensor_handed_out_by_dlpack_is_adopted_by_another_handle() -> Result {
    // The other handle has a stream of its own, and says that it works in `stream`, where a third one copies.
    let (cuda, other, stream) = (own(), own(), theirs()?);
    let third = Cuda::on(stream.clone())?;
    let tensor = vector(&cuda, &[0.0; 6], DType::F32).reshape(&[2, 3])?;
    cuda.write(&tensor, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let managed = cuda.to_dlpack(&tensor.slice(3, 3)?, &stream)?;
    // SAFETY: the structure is of `to_dlpack`.
    let refused = unsafe { other.adopt_dlpack(managed, &stream, true) };
    assert!(matches!(refusal(refused), AdoptError::DlPack { part: "`flags`", .. }));
    // SAFETY: as above.
    let there = unsafe { other.adopt_dlpack(managed, &stream, false) }?;
    assert_eq!(other.download(&there)?, [4.0, 5.0, 6.0]);
    let held = cuda.memory_use().bytes;
    drop(tensor);
    assert_eq!(cuda.memory_use().bytes, held, "the other handle has it");
    let late = Arc::new(stream.clone_htod(&[0.0_f32; 10])?);
    let (here, late) = (cuda.adopt(late.clone(), &[10])?, third.adopt_mut(late, &[10])?);
    third.write(&late, &[1.0; 10])?;
    drop(there);
    assert!(cuda.memory_use().bytes < held);
    // Work from here on waits for `stream` as it was then.
    assert_eq!(cuda.download(&cuda.add(&here, &here)?)?, [2.0; 10]);
    Ok(())
}
