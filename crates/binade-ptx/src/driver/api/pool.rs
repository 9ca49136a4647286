//! Functions on memory pools.

use std::ffi::{c_int, c_uint};

use super::{
    abi::{In, Out, Untyped},
    call::api,
};
use crate::driver::{code::Code, state::Handle};

/// Attributes of type `int`; the others are of type `cuuint64_t`.
const SWITCHES: std::ops::RangeInclusive<c_uint> = 1..=3;

/// Value of `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: c_int = 1;

api! {
    fn cuDeviceGetDefaultMemPool(driver, pool: Out<Handle>, device: c_int) {
        let device = driver.device(device)?;
        pool.set(driver.default_pool(device))
    }

    fn cuDeviceGetMemPool(driver, pool: Out<Handle>, device: c_int) {
        let device = driver.device(device)?;
        pool.set(driver.device_pool(device))
    }

    fn cuDeviceSetMemPool(driver, device: c_int, pool: Handle) {
        let device = driver.device(device)?;
        driver.set_device_pool(device, pool)
    }

    /// Creates a pool on the device that the properties name. They hold kind of allocation, kind of handle, kind of place, number
    /// of place.
    fn cuMemPoolCreate(driver, pool: Out<Handle>, properties: In<[c_int; 4]>) {
        let [_, _, kind, device] = properties.get()?;
        if kind != DEVICE {
            return Err(Code::NotSupported);
        }
        let device = driver.device(device)?;
        pool.set(driver.create_pool(device))
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
