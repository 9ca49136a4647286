//! Unsafe calls of the driver: uninitialised memory, asynchronous copies, fills, captures.
#![expect(unsafe_code, reason = "memory comes unset, and copies run on while the host does")]

use crate::memory::{Buffer, Pinned};
use crate::{Tensor, probe::LIBRARIES};
use cudarc::driver::{
    CudaContext, CudaEvent, CudaGraph, CudaSlice, CudaStream, DriverError, PinnedHostSlice, result,
    sys,
};
use std::sync::{Arc, OnceLock};

/// Creates the stream of a context that only this crate uses.
pub(crate) fn only_stream(context: &Arc<CudaContext>) -> Result<Arc<CudaStream>, DriverError> {
    // SAFETY: without cudarc's events, slices must not be used in several streams unsynchronised. Those of this context are
    // this crate's own, none is handed out, and work on one is in the stream that it was made in, which the handle that made
    // it alone has. There are two exceptions, with events before and behind them that the streams wait for: `copy_from_peer`,
    // by which another rank's stream reads (`ranks::peers`, `peers`), and `send_to` in a stream of uploads (`prefetch`).
    unsafe { context.disable_event_tracking() };
    context.new_stream()
}

/// Returns true for the device's default stream, which cannot be captured.
pub(crate) fn is_default(stream: &CudaStream) -> bool {
    /// Handle `CU_STREAM_LEGACY`.
    const LEGACY: usize = 1;
    matches!(stream.cu_stream() as usize, 0 | LEGACY)
}

/// Begins a capture: from now on this thread's work in the stream is recorded, but not executed.
pub(crate) fn begin_capture(stream: &CudaStream) -> Result<(), DriverError> {
    stream.begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
}

/// Ends a capture and returns its graph, ready to run and on its way to the device. The stream captures no more, even after an
/// error.
pub(crate) fn end_capture(stream: &Arc<CudaStream>) -> Result<Option<CudaGraph>, DriverError> {
    /// Far more than there are threads that leave errors meanwhile; on a device that is lost nothing ends.
    const MOST: usize = 64;
    let end = || stream.end_capture(sys::CUgraphInstantiate_flags(0));
    let ended = end();
    // cudarc returns the error of an earlier drop to the next caller, and has not called the driver then.
    let is_open = || !matches!(stream.capture_status(), Ok(NOT_CAPTURING));
    let _ = (0..MOST).take_while(|_| ended.is_err() && is_open()).map(|_| end()).last();
    if let Ok(Some(graph)) = &ended {
        graph.upload()?;
    }
    ended
}

const NOT_CAPTURING: sys::CUstreamCaptureStatus =
    sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;

/// Allocates device memory, its contents unset.
pub(crate) fn allocate(
    stream: &Arc<CudaStream>,
    bytes: usize,
) -> Result<CudaSlice<u8>, DriverError> {
    // SAFETY: every bit pattern is a u8, and only kernels and copies read device memory, never Rust code.
    unsafe { stream.alloc(bytes) }
}

/// Allocates zeroed host memory that copies need not stage.
pub(crate) fn allocate_pinned(
    context: &Arc<CudaContext>,
    bytes: usize,
) -> Result<PinnedHostSlice<u8>, DriverError> {
    // No flag: write-combined memory, the default, is slow to read.
    // SAFETY: its bytes are written before they are read, by the next line.
    let mut pinned = unsafe { context.alloc_pinned_with_flags::<u8>(bytes, 0) }?;
    let at = pinned.as_mut_ptr()?;
    // SAFETY: `at` is valid for `bytes` bytes, to which there is no other pointer yet.
    unsafe { std::ptr::write_bytes(at, 0, bytes) };
    Ok(pinned)
}

/// Starts a copy of `bytes` into `to`, at `offset` bytes, through `pinned`.
pub(crate) fn send_to(
    stream: &CudaStream,
    bytes: &[u8],
    pinned: &mut Pinned,
    to: &Buffer,
    offset: usize,
) -> Result<(), DriverError> {
    let Some(host) = pinned.host.as_mut() else { return Ok(()) };
    let staged = &mut host.as_mut_slice()?[..bytes.len()];
    staged.copy_from_slice(bytes);
    assert!(offset + bytes.len() <= to.bytes(), "{} bytes at {offset} of {to:?}", bytes.len());
    stream.context().bind_to_thread()?;
    let at = to.address() + offset as u64;
    // SAFETY: the buffer has as many bytes (asserted), and its next use is ordered after this copy, by the stream or by an event. The pinned memory
    // outlives the copy and is not written to before it is done: its ring does not reuse it until the event below has completed.
    unsafe { result::memcpy_htod_async(at, staged, stream.cu_stream()) }?;
    record(stream, pinned)
}

/// Starts a copy of `from` into `pinned`.
pub(crate) fn send_from(
    stream: &CudaStream,
    from: &Buffer,
    pinned: &mut Pinned,
) -> Result<(), DriverError> {
    pinned.bytes = from.bytes();
    let Some(host) = pinned.host.as_mut() else { return Ok(()) };
    let to = &mut host.as_mut_slice()?[..from.bytes()];
    stream.context().bind_to_thread()?;
    // SAFETY: both have as many bytes (the slice's own check). Whoever writes to the buffer next is behind this copy in the stream. The pinned memory
    // is not read before the event below has completed: see `received` and the ring.
    unsafe { result::memcpy_dtoh_async(to, from.address(), stream.cu_stream()) }?;
    record(stream, pinned)
}

/// Records the event behind a copy that is under way. If that fails, the end of the copy is unknown, and the memory is never used again.
fn record(stream: &CudaStream, pinned: &mut Pinned) -> Result<(), DriverError> {
    pinned.done.record(stream).inspect_err(|_| pinned.leak())
}

/// Copies a tensor's bytes into another tensor of as many.
pub(crate) fn copy(stream: &CudaStream, from: &Tensor, to: &Tensor) -> Result<(), DriverError> {
    assert_eq!(from.bytes(), to.bytes(), "{from:?} to {to:?}");
    stream.context().bind_to_thread()?;
    // SAFETY: both have as many bytes (asserted), which their buffers keep alive; their next use comes later in the stream.
    unsafe {
        result::memcpy_dtod_async(to.address(), from.address(), from.bytes(), stream.cu_stream())
    }
}

/// Fills `count` words with `word`, from `offset` bytes on.
pub(crate) fn fill(
    stream: &CudaStream,
    to: &Buffer,
    offset: usize,
    word: u32,
    count: usize,
) -> Result<(), DriverError> {
    assert!(
        offset.is_multiple_of(4) && offset + 4 * count <= to.bytes(),
        "{count} at {offset} of {to:?}"
    );
    stream.context().bind_to_thread()?;
    let at = to.address() + offset as u64;
    // SAFETY: the buffer has as many words there (asserted), aligned as the buffer is, and its next use comes later in the stream.
    unsafe { sys::cuMemsetD32Async(at, word, count, stream.cu_stream()) }.result()
}

/// Starts a copy into memory of one stream's device, in this stream, from memory of another's.
///
/// The addresses are the caller's, who borrows their buffers: both have as many bytes. Only events order the copy with the other stream.
pub(crate) fn copy_from_peer(
    (stream, to): (&CudaStream, u64),
    (source, from): (&CudaStream, u64),
    bytes: usize,
) -> Result<(), DriverError> {
    stream.context().bind_to_thread()?;
    let [here, there] = [stream, source].map(|stream| stream.context().cu_ctx());
    // SAFETY: both addresses have as many bytes, as the caller has asserted, each in the device of the context beside it, which its stream
    // keeps alive. Whoever reads or writes `to` is behind this copy in `stream`; that `from` is written before, and neither written to
    // nor freed until then, is the caller's, by events.
    unsafe {
        if here == there {
            result::memcpy_dtod_async(to, from, bytes, stream.cu_stream())
        } else {
            result::memcpy_peer_async(here, to, there, from, bytes, stream.cu_stream())
        }
    }
}

/// Waits for the last copy into `pinned`, and returns its bytes.
pub(crate) fn received(pinned: &Pinned) -> Result<Vec<u8>, DriverError> {
    pinned.done.synchronize()?;
    let Some(host) = pinned.host.as_ref() else { return Ok(Vec::new()) };
    Ok(host.as_slice()?[..pinned.bytes].to_vec())
}

/// Returns the newest CUDA version that the driver supports, as 1000 · major + 10 · minor.
pub(crate) fn driver_version() -> Result<i32, DriverError> {
    let mut version = 0;
    // SAFETY: it writes one int through the pointer, which is valid.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result()?;
    Ok(version)
}

/// Function `cuEventElapsedTime` of the driver.
type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> sys::CUresult;

/// Returns the milliseconds between two events that have passed. cudarc calls a function that only drivers from CUDA 12.8 on have; every driver has
/// the older one.
pub(crate) fn elapsed_ms(start: &CudaEvent, end: &CudaEvent) -> Result<f32, DriverError> {
    static ELAPSED: OnceLock<Option<Elapsed>> = OnceLock::new();
    let elapsed = ELAPSED.get_or_init(|| LIBRARIES.iter().find_map(|name| elapsed_of(name)));
    let elapsed = elapsed.ok_or(DriverError(sys::CUresult::CUDA_ERROR_NOT_FOUND))?;
    let mut milliseconds = 0.0;
    // SAFETY: the events are alive, and it writes one `f32`.
    unsafe { elapsed(&raw mut milliseconds, start.cu_event(), end.cu_event()) }.result()?;
    Ok(milliseconds)
}

/// Returns the function of the driver in a library of this name. The driver stays loaded.
fn elapsed_of(name: &str) -> Option<Elapsed> {
    // SAFETY: as for `loads`; the declaration is that of `cuda.h`.
    unsafe {
        let driver = libloading::Library::new(name).ok()?;
        let elapsed = driver.get::<Elapsed>(b"cuEventElapsedTime\0").ok().map(|it| *it);
        std::mem::forget(driver);
        elapsed
    }
}

/// Returns true if the system's loader finds this library. It stays loaded: cudarc wants it too.
pub(crate) fn loads(name: &str) -> bool {
    // SAFETY: loading runs the library's initialisers, and NVIDIA's driver is made to be loaded so; nothing of it is
    // called here, and it is never unloaded, so that no pointer into it goes stale.
    unsafe { libloading::Library::new(name) }.map(std::mem::forget).is_ok()
}
