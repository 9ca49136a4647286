//! Functions on page-locked host memory, and on pointers.

use std::ffi::{c_int, c_uint};

use super::{
    abi::{Host, Out, Untyped},
    call::api,
};
use crate::driver::{code::Code, state::Handle};

/// Value of `CU_MEMORYTYPE_DEVICE`.
const DEVICE: c_uint = 2;

api! {
    fn cuMemHostAlloc(driver, pointer: Out<*mut u8>, bytes: usize, _flags: c_uint) {
        pointer.set(driver.allocate_host(bytes)?)
    }

    fn cuMemAllocHost_v2(driver, pointer: Out<*mut u8>, bytes: usize) {
        pointer.set(driver.allocate_host(bytes)?)
    }

    fn cuMemFreeHost(driver, pointer: Host) {
        driver.free_host(pointer.address())
    }

    fn cuMemHostRegister_v2(driver, pointer: Host, bytes: usize, _flags: c_uint) {
        driver.register_host(pointer.address(), bytes)
    }

    fn cuMemHostUnregister(driver, pointer: Host) {
        driver.unregister_host(pointer.address())
    }

    /// Returns an attribute of a device pointer: context, kind, device pointer, device, or the allocation's range. Others are not
    /// supported.
    fn cuPointerGetAttribute(driver, data: Untyped, attribute: c_int, pointer: u64) {
        let (first, bytes) = driver.range(pointer).map_err(|code| match code {
            Code::NotFound => Code::InvalidValue,
            other => other,
        })?;
        match attribute {
            1 => data.as_out::<Handle>().set(driver.owner(pointer)?),
            2 => data.as_out().set(DEVICE),
            3 => data.as_out().set(pointer),
            9 => data.as_out::<c_int>().set(driver.device_number(driver.owner(pointer)?)?),
            11 => data.as_out().set(first),
            12 => data.as_out().set(bytes),
            _ => Err(Code::NotSupported),
        }
    }
}
