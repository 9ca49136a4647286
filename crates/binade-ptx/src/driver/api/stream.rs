//! Functions on streams and their captures.

use std::ffi::{c_int, c_uint, c_void};

use super::{abi::Out, call::api};
use crate::driver::{
    code::Code,
    host::{HostCall, HostFunction},
    state::{CaptureMode, Handle},
};

api! {
    fn cuStreamCreate(driver, stream: Out<Handle>, flags: c_uint) {
        stream.set(driver.create_stream(flags)?)
    }

    fn cuStreamCreateWithPriority(
        driver,
        stream: Out<Handle>,
        flags: c_uint,
        _priority: c_int,
    ) {
        stream.set(driver.create_stream(flags)?)
    }

    fn cuStreamDestroy_v2(driver, stream: Handle) {
        driver.destroy_stream(stream)
    }

    fn cuStreamSynchronize(driver, stream: Handle) {
        driver.synchronize(stream)
    }

    fn cuStreamWaitEvent(driver, stream: Handle, event: Handle, _flags: c_uint) {
        driver.wait_event(stream, event)
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
}
