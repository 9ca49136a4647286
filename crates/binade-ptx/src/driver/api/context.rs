//! Functions on contexts: `cuCtx…` and `cuDevicePrimaryCtx…`.

use std::ffi::{c_int, c_uint};

use super::{
    abi::{In, Out},
    call::api,
};
use crate::driver::{
    code::Code,
    state::{Driver, Handle},
};

api! {
    fn cuDevicePrimaryCtxRetain(driver, context: Out<Handle>, device: c_int) {
        let device = driver.device(device)?;
        context.set(driver.retain_primary(device))
    }

    fn cuDevicePrimaryCtxRelease_v2(driver, device: c_int) {
        let device = driver.device(device)?;
        driver.release_primary(device)
    }

    fn cuCtxCreate_v3(
        driver,
        context: Out<Handle>,
        _affinities: In<u8>,
        _count: c_int,
        flags: c_uint,
        device: c_int,
    ) {
        let device = driver.device(device)?;
        context.set(driver.create_context(device, flags))
    }

    fn cuCtxCreate_v4(
        driver,
        context: Out<Handle>,
        _params: In<u8>,
        flags: c_uint,
        device: c_int,
    ) {
        let device = driver.device(device)?;
        context.set(driver.create_context(device, flags))
    }

    fn cuCtxDestroy_v2(driver, context: Handle) {
        driver.destroy_context(context)
    }

    fn cuCtxGetCurrent(_driver, context: Out<Handle>) {
        context.set(Driver::current_context())
    }

    fn cuCtxSetCurrent(driver, context: Handle) {
        driver.set_current_context(context)
    }

    fn cuCtxSetFlags(driver, flags: c_uint) {
        driver.set_context_flags(flags)
    }

    fn cuCtxSynchronize(driver) {
        driver.synchronize_context()
    }

    fn cuCtxGetStreamPriorityRange(driver, least: Out<c_int>, greatest: Out<c_int>) {
        driver.context()?;
        least.set_if_wanted(Driver::PRIORITIES.0);
        greatest.set_if_wanted(Driver::PRIORITIES.1);
        Ok(())
    }

    /// Answers 0, whatever was set: stack, heap and printf buffer have no size here.
    fn cuCtxGetLimit(driver, value: Out<usize>, _limit: c_uint) {
        driver.context()?;
        value.set(0)
    }

    fn cuCtxSetLimit(driver, limit: c_uint, _value: usize) {
        driver.context()?;
        if limit < 7 { Ok(()) } else { Err(Code::InvalidValue) }
    }

    fn cuCtxGetCacheConfig(driver, preference: Out<c_uint>) {
        driver.context()?;
        preference.set(0)
    }

    fn cuCtxSetCacheConfig(driver, _preference: c_uint) {
        driver.context().map(|_| ())
    }
}
