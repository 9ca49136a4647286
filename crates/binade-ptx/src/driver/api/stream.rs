//! Functions on streams and their captures.

use std::ffi::{c_int, c_uint, c_void};

use super::{
    abi::{Out, Untyped},
    call::api,
};
use crate::driver::{
    code::Code,
    host::{HostCall, HostFunction},
    state::{CaptureMode, Driver, Handle},
};

api! {
    fn cuStreamCreate(driver, stream: Out<Handle>, flags: c_uint) {
        stream.set(driver.create_stream(flags, 0)?)
    }

    fn cuStreamCreateWithPriority(
        driver,
        stream: Out<Handle>,
        flags: c_uint,
        priority: c_int,
    ) {
        stream.set(driver.create_stream(flags, priority)?)
    }

    fn cuStreamDestroy_v2(driver, stream: Handle) {
        driver.destroy_stream(stream)
    }

    fn cuStreamSynchronize(driver, stream: Handle) {
        driver.synchronize(stream)
    }

    fn cuStreamQuery(driver, stream: Handle) {
        driver.synchronize(stream)
    }

    fn cuStreamWaitEvent(driver, stream: Handle, event: Handle, _flags: c_uint) {
        driver.wait_event(stream, event)
    }

    fn cuStreamGetCtx(driver, stream: Handle, context: Out<Handle>) {
        context.set(driver.stream_context(stream)?)
    }

    fn cuStreamGetDevice(driver, stream: Handle, device: Out<c_int>) {
        let context = driver.stream_context(stream)?;
        device.set(driver.device_number(context)?)
    }

    fn cuStreamGetFlags(driver, stream: Handle, flags: Out<c_uint>) {
        flags.set(driver.stream_traits(stream)?.0)
    }

    fn cuStreamGetPriority(driver, stream: Handle, priority: Out<c_int>) {
        priority.set(driver.stream_traits(stream)?.1)
    }

    fn cuStreamGetId(driver, stream: Handle, id: Out<u64>) {
        driver.stream_context(stream)?;
        id.set(stream)
    }

    fn cuLaunchHostFunc(
        driver,
        stream: Handle,
        function: Option<HostFunction>,
        data: *mut c_void,
    ) {
        let function = function.ok_or(Code::InvalidValue)?;
        // SAFETY: `HostCall` demands what CUDA demands of a host function, and the caller of this promised.
        driver.call_host(stream, unsafe { HostCall::new(function, data) })
    }

    fn cuStreamBeginCapture_v2(driver, stream: Handle, mode: c_uint) {
        driver.begin_capture(stream, CaptureMode::from_number(mode)?)
    }

    fn cuStreamEndCapture(driver, stream: Handle, graph: Out<Handle>) {
        graph.set(0)?;
        graph.set(driver.end_capture(stream)?)
    }

    fn cuStreamIsCapturing(driver, stream: Handle, status: Out<c_int>) {
        status.set(driver.capture_of(stream)?.0 as c_int)
    }

    fn cuStreamGetCaptureInfo(driver, stream: Handle, status: Out<c_int>, id: Out<u64>) {
        let (now, capture) = driver.capture_of(stream)?;
        status.set(now as c_int)?;
        id.set_if_wanted(capture);
        Ok(())
    }

    /// Returns the status and the number of a stream's capture. The graph in the making and its dependencies are not handed out.
    fn cuStreamGetCaptureInfo_v2(
        driver,
        stream: Handle,
        status: Out<c_int>,
        id: Out<u64>,
        graph: Out<Handle>,
        _dependencies: Out<Handle>,
        count: Out<usize>,
    ) {
        let (now, capture) = driver.capture_of(stream)?;
        status.set(now as c_int)?;
        id.set_if_wanted(capture);
        graph.set_if_wanted(0);
        count.set_if_wanted(0);
        Ok(())
    }

    fn cuStreamGetCaptureInfo_v3(
        driver,
        stream: Handle,
        status: Out<c_int>,
        id: Out<u64>,
        graph: Out<Handle>,
        _dependencies: Out<Handle>,
        _edges: Out<Handle>,
        count: Out<usize>,
    ) {
        let (now, capture) = driver.capture_of(stream)?;
        status.set(now as c_int)?;
        id.set_if_wanted(capture);
        graph.set_if_wanted(0);
        count.set_if_wanted(0);
        Ok(())
    }

    fn cuThreadExchangeStreamCaptureMode(_driver, mode: Untyped) {
        let wanted = CaptureMode::from_number(mode.as_in().get()?)?;
        mode.as_out().set(Driver::exchange_mode(wanted) as c_uint)
    }
}
