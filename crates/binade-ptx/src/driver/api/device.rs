//! Initialisation and the device.

use std::ffi::{c_char, c_int, c_uint};

use super::{
    abi::Out,
    call::{api, initialize},
};
use crate::driver::{code::Code, state::Driver};

/// CUDA 13.0, which the interpreter's tables were written from.
const VERSION: c_int = 13_000;

/// Any sixteen bytes that no GPU has.
const UUID: [u8; 16] = *b"binade-ptx\0\0\0\0\0\0";

api! {
    fn cuInit(_, flags: c_uint) {
        if flags == 0 { initialize() } else { Err(Code::InvalidValue) }
    }

    fn cuDriverGetVersion(_, version: Out<c_int>) {
        version.set(VERSION)
    }

    fn cuDeviceGetCount(_driver, count: Out<c_int>) {
        count.set(1)
    }

    fn cuDeviceGet(_driver, device: Out<c_int>, ordinal: c_int) {
        device.set(Driver::device(ordinal)?)
    }

    fn cuDeviceGetName(_driver, name: Out<c_char>, length: c_int, device: c_int) {
        Driver::device(device)?;
        name.text(Driver::name(), length)
    }

    fn cuDeviceGetUuid(_driver, uuid: Out<[u8; 16]>, device: c_int) {
        Driver::device(device)?;
        uuid.set(UUID)
    }

    fn cuDeviceGetUuid_v2(_driver, uuid: Out<[u8; 16]>, device: c_int) {
        Driver::device(device)?;
        uuid.set(UUID)
    }

    fn cuDeviceTotalMem_v2(_driver, bytes: Out<u64>, device: c_int) {
        Driver::device(device)?;
        bytes.set(Driver::total_memory())
    }

    fn cuDeviceGetAttribute(driver, value: Out<c_int>, attribute: c_int, device: c_int) {
        Driver::device(device)?;
        value.set(driver.attribute(attribute)?)
    }

    fn cuDeviceComputeCapability(driver, major: Out<c_int>, minor: Out<c_int>, device: c_int) {
        Driver::device(device)?;
        major.set(driver.attribute(75)?)?;
        minor.set(driver.attribute(76)?)
    }

    fn cuDeviceCanAccessPeer(_driver, can: Out<c_int>, device: c_int, peer: c_int) {
        Driver::device(device)?;
        Driver::device(peer)?;
        can.set(0)
    }
}
