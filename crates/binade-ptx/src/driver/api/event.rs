//! Functions on events: `cuEvent…`.

use std::ffi::c_uint;

use super::{abi::Out, call::api};
use crate::driver::state::Handle;

api! {
    fn cuEventCreate(driver, event: Out<Handle>, flags: c_uint) {
        event.set(driver.create_event(flags)?)
    }

    fn cuEventDestroy_v2(driver, event: Handle) {
        driver.destroy_event(event)
    }

    fn cuEventRecord(driver, event: Handle, stream: Handle) {
        driver.record_event(event, stream)
    }

    fn cuEventSynchronize(driver, event: Handle) {
        driver.synchronize_event(event)
    }

    fn cuEventQuery(driver, event: Handle) {
        driver.query_event(event)
    }

    fn cuEventElapsedTime(driver, milliseconds: Out<f32>, from: Handle, to: Handle) {
        milliseconds.set(driver.elapsed(from, to)?)
    }

    fn cuEventElapsedTime_v2(driver, milliseconds: Out<f32>, from: Handle, to: Handle) {
        milliseconds.set(driver.elapsed(from, to)?)
    }
}
