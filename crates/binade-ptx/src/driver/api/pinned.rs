//! Functions on page-locked host memory.

use std::ffi::c_uint;

use super::{
    abi::{Host, Out},
    call::api,
};

api! {
    fn cuMemHostAlloc(driver, pointer: Out<*mut u8>, bytes: usize, _flags: c_uint) {
        pointer.set(driver.allocate_host(bytes)?)
    }

    fn cuMemFreeHost(driver, pointer: Host) {
        driver.free_host(pointer.address())
    }
}
