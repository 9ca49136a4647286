//! Functions of the driver, and the report of the last faulty kernel.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_void};

use super::{
    abi::{Arguments, Host, In, Out, Text},
    call::{api, initialize, last_report, wait},
};
use crate::driver::{
    code::{Code, Result, words},
    host::{HostCall, HostFunction},
    state::{CaptureMode, Driver, Handle, Node, Shape, TOTAL_MEMORY},
};

/// Version that `cuDriverGetVersion` returns: CUDA 13.0, the version that the interpreter's tables describe.
const VERSION: c_int = 13_000;

/// Name of every device.
const NAME: &CStr = c"Binade PTX interpreter";

/// Writes a text of the driver's own; without one the code is unknown.
fn put(out: Out<*const c_char>, text: Option<&'static CStr>) -> Result {
    out.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(|_| ()).ok_or(Code::InvalidValue)
}

/// Puts a fill of the memory with a value's bytes into a stream.
fn fill(driver: &mut Driver, at: u64, pattern: &[u8], count: usize, stream: Handle) -> Result {
    if !at.is_multiple_of(pattern.len() as u64) {
        return Err(Code::InvalidValue);
    }
    driver.enqueue(stream, Node::Fill { at, pattern: pattern.to_vec(), count })
}

// Copies and fills without a stream run in the legacy stream.
api! {
    fn cuInit(_, flags: c_uint) = if flags == 0 { initialize() } else { Err(Code::InvalidValue) };
    fn cuDriverGetVersion(_, version: Out<c_int>) = version.set(VERSION);
    fn cuGetErrorName(_, code: c_int, name: Out<*const c_char>) = put(name, words(code).map(|(name, _)| name));
    fn cuGetErrorString(_, code: c_int, text: Out<*const c_char>) = put(text, words(code).map(|(_, text)| text));

    fn cuDeviceGetCount(driver, count: Out<c_int>) = count.set(driver.device_count());
    fn cuDeviceGet(driver, device: Out<c_int>, ordinal: c_int) = driver.device(ordinal).and_then(|_| device.set(ordinal));
    fn cuDeviceGetName(driver, name: Out<c_char>, length: c_int, device: c_int) =
        driver.device(device).and_then(|_| name.text(NAME, length));
    fn cuDeviceTotalMem_v2(driver, bytes: Out<u64>, device: c_int) = driver.device(device).and_then(|_| bytes.set(TOTAL_MEMORY));
    fn cuDeviceGetAttribute(driver, value: Out<c_int>, attribute: c_int, device: c_int) =
        driver.device(device).and_then(|_| value.set(driver.attribute(attribute)?));
    // Copies among devices go by way of the host, as between GPUs without a link.
    fn cuDeviceCanAccessPeer(driver, can: Out<c_int>, device: c_int, peer: c_int) =
        driver.device(device).and(driver.device(peer)).and_then(|_| can.set(0));

    fn cuDevicePrimaryCtxRetain(driver, context: Out<Handle>, device: c_int) =
        context.set(driver.retain_primary(driver.device(device)?));
    fn cuDevicePrimaryCtxRelease_v2(driver, device: c_int) = driver.release_primary(driver.device(device)?);
    fn cuCtxGetCurrent(_driver, context: Out<Handle>) = context.set(Driver::current_context());
    fn cuCtxSetCurrent(driver, context: Handle) = driver.set_current_context(context);
    fn cuCtxSynchronize(driver) = driver.synchronize_context();

    fn cuMemGetInfo_v2(driver, free: Out<u64>, total: Out<u64>) = free.set(driver.free_memory()?).and_then(|()| total.set(TOTAL_MEMORY));
    fn cuMemAlloc_v2(driver, pointer: Out<u64>, bytes: usize) = pointer.set(driver.allocate(bytes)?);
    fn cuMemFree_v2(driver, pointer: u64) = driver.free(pointer);
    fn cuMemAllocAsync(driver, pointer: Out<u64>, bytes: usize, stream: Handle) =
        pointer.set(driver.allocate_in_order(bytes, stream)?);
    fn cuMemFreeAsync(driver, pointer: u64, stream: Handle) = driver.free_in_order(pointer, stream);
    fn cuMemHostAlloc(driver, pointer: Out<*mut u8>, bytes: usize, _flags: c_uint) = pointer.set(driver.allocate_host(bytes)?);
    fn cuMemFreeHost(driver, pointer: Host) = driver.free_host(pointer.address());
    fn cuMemcpyHtoD_v2(driver, to: u64, from: Host, bytes: usize) =
        driver.enqueue(0, Node::Upload { to, from: from.span(bytes)? });
    fn cuMemcpyHtoDAsync_v2(driver, to: u64, from: Host, bytes: usize, stream: Handle) =
        driver.upload_in_order(stream, to, from.span(bytes)?);
    fn cuMemcpyDtoH_v2(driver, to: Host, from: u64, bytes: usize) =
        driver.enqueue(0, Node::Download { to: to.span(bytes)?, from });
    fn cuMemcpyDtoHAsync_v2(driver, to: Host, from: u64, bytes: usize, stream: Handle) =
        driver.enqueue(stream, Node::Download { to: to.span(bytes)?, from });
    fn cuMemcpyDtoD_v2(driver, to: u64, from: u64, bytes: usize) = driver.enqueue(0, Node::Copy { to, from, bytes });
    fn cuMemcpyDtoDAsync_v2(driver, to: u64, from: u64, bytes: usize, stream: Handle) =
        driver.enqueue(stream, Node::Copy { to, from, bytes });
    // The contexts name the devices, and the addresses must match them.
    fn cuMemcpyPeerAsync(driver, to: u64, to_context: Handle, from: u64, from_context: Handle, bytes: usize, stream: Handle) =
        driver.own(to_context, to)
            .and(driver.own(from_context, from))
            .and_then(|()| driver.enqueue(stream, Node::PeerCopy { to, from, bytes }));
    fn cuMemsetD8_v2(driver, at: u64, value: c_uchar, count: usize) = fill(driver, at, &[value], count, 0);
    fn cuMemsetD8Async(driver, at: u64, value: c_uchar, count: usize, stream: Handle) = fill(driver, at, &[value], count, stream);
    fn cuMemsetD32_v2(driver, at: u64, value: c_uint, count: usize) = fill(driver, at, &value.to_le_bytes(), count, 0);
    fn cuMemsetD32Async(driver, at: u64, value: c_uint, count: usize, stream: Handle) =
        fill(driver, at, &value.to_le_bytes(), count, stream);

    fn cuModuleLoadData(driver, module: Out<Handle>, image: Text) = module.set(driver.load(&image.bytes()?)?);
    fn cuModuleUnload(driver, module: Handle) = driver.unload(module);
    fn cuModuleGetFunction(driver, function: Out<Handle>, module: Handle, name: Text) =
        function.set(driver.get_function(module, &name.bytes()?)?);
    fn cuFuncGetAttribute(driver, value: Out<c_int>, attribute: c_int, function: Handle) =
        value.set(driver.function_attribute(function, attribute)?);
    fn cuFuncSetAttribute(driver, function: Handle, attribute: c_int, value: c_int) =
        driver.set_function_attribute(function, attribute, value);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(driver, blocks: Out<c_int>, function: Handle, threads: c_int, shared: usize) =
        blocks.set(driver.blocks_that_fit(function, threads, shared)?);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        driver, blocks: Out<c_int>, function: Handle, threads: c_int, shared: usize, _flags: c_uint,
    ) = blocks.set(driver.blocks_that_fit(function, threads, shared)?);
    // Arguments packed into one buffer (`extra`) are not supported; no caller in Rust passes them.
    fn cuLaunchKernel(
        driver, function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint,
        block_z: c_uint, shared_bytes: c_uint, stream: Handle, arguments: Arguments, extra: In<u64>,
    ) = if extra.given() {
        Err(Code::NotSupported)
    } else {
        let (grid, block) = ([grid_x, grid_y, grid_z].into(), [block_x, block_y, block_z].into());
        let params = arguments.block(&driver.parameters(function)?)?;
        driver.launch(function, Shape { grid, block, shared_bytes }, params, stream)
    };

    fn cuStreamCreate(driver, stream: Out<Handle>, flags: c_uint) = stream.set(driver.create_stream(flags)?);
    fn cuStreamDestroy_v2(driver, stream: Handle) = driver.destroy_stream(stream);
    fn cuStreamSynchronize(driver, stream: Handle) = driver.synchronize(stream);
    fn cuStreamWaitEvent(driver, stream: Handle, event: Handle, _flags: c_uint) = driver.wait_event(stream, event);
    fn cuLaunchHostFunc(driver, stream: Handle, function: Option<HostFunction>, data: *mut c_void) =
        // SAFETY: `HostCall` demands what CUDA demands of a host function, and the caller of this promised.
        driver.submit(stream, Node::Host(unsafe { HostCall::new(function.ok_or(Code::InvalidValue)?, data) }));
    fn cuStreamBeginCapture_v2(driver, stream: Handle, mode: c_uint) =
        driver.begin_capture(stream, CaptureMode::from_number(mode)?);
    fn cuStreamEndCapture(driver, stream: Handle, graph: Out<Handle>) = graph.set(0).and_then(|()| graph.set(driver.end_capture(stream)?));
    fn cuStreamIsCapturing(driver, stream: Handle, status: Out<c_int>) = status.set(driver.capture_of(stream)? as c_int);

    fn cuEventCreate(driver, event: Out<Handle>, flags: c_uint) = event.set(driver.create_event(flags)?);
    fn cuEventDestroy_v2(driver, event: Handle) = driver.destroy_event(event);
    fn cuEventRecord(driver, event: Handle, stream: Handle) = driver.record_event(event, stream);
    fn cuEventSynchronize(driver, event: Handle) = driver.synchronize_event(event);
    fn cuEventQuery(driver, event: Handle) = driver.query_event(event);
    fn cuEventElapsedTime(driver, milliseconds: Out<f32>, from: Handle, to: Handle) = milliseconds.set(driver.elapsed(from, to)?);
    fn cuEventElapsedTime_v2(driver, milliseconds: Out<f32>, from: Handle, to: Handle) = milliseconds.set(driver.elapsed(from, to)?);

    fn cuGraphDestroy(driver, graph: Handle) = driver.graphs.delete(graph);
    fn cuGraphInstantiateWithFlags(driver, runnable: Out<Handle>, graph: Handle, flags: u64) =
        runnable.set(driver.instantiate(graph, flags)?);
    fn cuGraphUpload(driver, runnable: Handle, stream: Handle) = driver.upload_graph(runnable, stream);
    fn cuGraphExecDestroy(driver, runnable: Handle) = driver.runnable.delete(runnable);
}

/// Runs a graph, which may wait for other threads' launches.
#[unsafe(no_mangle)]
extern "C" fn cuGraphLaunch(runnable: Handle, stream: Handle) -> c_int {
    let begin = |driver: &mut Driver| driver.launch_graph(runnable, stream);
    let codes = [Code::NotInitialized as c_int, Code::Unknown as c_int];
    let number = |code: Code| code as c_int;
    wait("cuGraphLaunch", codes, number, begin, Driver::go_on)
}

/// Defines functions that cudarc may call and that are not supported: a caller gets a code where a missing symbol would be a panic. In C's calling
/// conventions the caller removes the arguments, so a function may ignore all of them.
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> c_int {
            Code::NotSupported as c_int
        }
    )*};
}

unsupported! {
    cuMemAllocManaged cuMemAdvise_v2 cuMemPrefetchAsync_v2 cuStreamAttachMemAsync
    cuImportExternalMemory cuDestroyExternalMemory cuExternalMemoryGetMappedBuffer
    cuLaunchCooperativeKernel cuOccupancyMaxActiveClusters cuOccupancyMaxPotentialClusterSize
    cuOccupancyMaxPotentialBlockSize cuOccupancyMaxPotentialBlockSizeWithFlags cuOccupancyAvailableDynamicSMemPerBlock
    cuProfilerStart cuProfilerStop cuGraphClone cuGraphInstantiate
    cuCtxCreate_v3 cuCtxCreate_v4 cuCtxDestroy_v2 cuCtxSetFlags cuCtxGetStreamPriorityRange cuStreamCreateWithPriority
    cuCtxGetLimit cuCtxSetLimit cuCtxGetCacheConfig cuCtxSetCacheConfig cuFuncSetCacheConfig
    cuDeviceGetUuid cuDeviceGetUuid_v2 cuModuleLoad cuModuleGetGlobal_v2
    cuDeviceGetDefaultMemPool cuDeviceGetMemPool cuDeviceSetMemPool cuMemAllocFromPoolAsync
    cuMemPoolCreate cuMemPoolDestroy cuMemPoolTrimTo cuMemPoolGetAttribute cuMemPoolSetAttribute
}

/// Copies the report of the last faulty kernel, cut to `length` bytes with a closing 0. Returns the length of the whole without
/// it.
#[unsafe(no_mangle)]
extern "C" fn binade_ptx_last_report(buffer: Out<c_char>, length: usize) -> usize {
    let report = std::panic::catch_unwind(last_report).unwrap_or_default();
    let room = c_int::try_from(length).unwrap_or(c_int::MAX);
    if let Ok(text) = std::ffi::CString::new(report.as_bytes()) {
        // A caller that passes no buffer, or an empty one, only wants the length.
        let _ = buffer.text(&text, room);
    }
    report.len()
}
