//! Functions that initialise the driver and describe devices.

use std::ffi::{c_char, c_int, c_uint};

use super::{
    abi::Out,
    call::{api, initialize},
};
use crate::driver::{code::Code, state::Driver};

/// Version that `cuDriverGetVersion` returns: CUDA 13.0, which the interpreter's tables were written from.
const VERSION: c_int = 13_000;

/// Returns sixteen bytes that no GPU has; the last is the device's number.
fn uuid_of(device: usize) -> [u8; 16] {
    let mut uuid = *b"binade-ptx\0\0\0\0\0\0";
    uuid[15] = u8::try_from(device).unwrap_or(u8::MAX);
    uuid
}

api! {
    fn cuInit(_, flags: c_uint) {
        if flags == 0 { initialize() } else { Err(Code::InvalidValue) }
    }

    fn cuDriverGetVersion(_, version: Out<c_int>) {
        version.set(VERSION)
    }

    fn cuDeviceGetCount(driver, count: Out<c_int>) {
        count.set(driver.device_count())
    }

    fn cuDeviceGet(driver, device: Out<c_int>, ordinal: c_int) {
        driver.device(ordinal)?;
        device.set(ordinal)
    }

    fn cuDeviceGetName(driver, name: Out<c_char>, length: c_int, device: c_int) {
        driver.device(device)?;
        name.text(Driver::name(), length)
    }

    fn cuDeviceGetUuid(driver, uuid: Out<[u8; 16]>, device: c_int) {
        uuid.set(uuid_of(driver.device(device)?))
    }

    fn cuDeviceGetUuid_v2(driver, uuid: Out<[u8; 16]>, device: c_int) {
        uuid.set(uuid_of(driver.device(device)?))
    }

    fn cuDeviceTotalMem_v2(driver, bytes: Out<u64>, device: c_int) {
        driver.device(device)?;
        bytes.set(Driver::total_memory())
    }

    fn cuDeviceGetAttribute(driver, value: Out<c_int>, attribute: c_int, device: c_int) {
        driver.device(device)?;
        value.set(driver.attribute(attribute)?)
    }

    fn cuDeviceCanAccessPeer(driver, can: Out<c_int>, device: c_int, peer: c_int) {
        driver.device(device)?;
        driver.device(peer)?;
        // Copies among devices go by way of the host, as between GPUs without a link.
        can.set(0)
    }
}
