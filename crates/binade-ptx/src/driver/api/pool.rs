//! Memory pools.

use std::ffi::{c_int, c_uint};

use super::{
    abi::{In, Out, Untyped},
    call::api,
};
use crate::driver::state::{Driver, Handle};

/// The first three attributes are of type `int`, the others `cuuint64_t`.
const SWITCHES: std::ops::RangeInclusive<c_uint> = 1..=3;

api! {
    fn cuDeviceGetDefaultMemPool(driver, pool: Out<Handle>, device: c_int) {
        Driver::device(device)?;
        pool.set(driver.default_pool())
    }

    fn cuDeviceGetMemPool(driver, pool: Out<Handle>, device: c_int) {
        Driver::device(device)?;
        pool.set(driver.device_pool())
    }

    fn cuDeviceSetMemPool(driver, device: c_int, pool: Handle) {
        Driver::device(device)?;
        driver.set_device_pool(pool)
    }

    /// The properties say where the memory is, which is on the one device.
    fn cuMemPoolCreate(driver, pool: Out<Handle>, properties: In<u8>) {
        properties.get()?;
        pool.set(driver.create_pool())
    }

    fn cuMemPoolDestroy(driver, pool: Handle) {
        driver.destroy_pool(pool)
    }

    fn cuMemPoolTrimTo(driver, pool: Handle, _keep: usize) {
        driver.trim_pool(pool)
    }

    fn cuMemPoolGetAttribute(driver, pool: Handle, attribute: c_uint, value: Untyped) {
        let found = driver.pool_attribute(pool, attribute)?;
        if SWITCHES.contains(&attribute) {
            value.as_out::<c_int>().set(c_int::from(found != 0))
        } else {
            value.as_out::<u64>().set(found)
        }
    }

    fn cuMemPoolSetAttribute(driver, pool: Handle, attribute: c_uint, value: Untyped) {
        let wanted = if SWITCHES.contains(&attribute) {
            u64::from(value.as_in::<c_int>().get()? != 0)
        } else {
            value.as_in::<u64>().get()?
        };
        driver.set_pool_attribute(pool, attribute, wanted)
    }
}
