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

    fn cuDevicePrimaryCtxReset_v2(driver, device: c_int) {
        let device = driver.device(device)?;
        driver.reset_primary(device)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(driver, device: c_int, _flags: c_uint) {
        driver.device(device).map(|_| ())
    }

    fn cuDevicePrimaryCtxGetState(driver, device: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let device = driver.device(device)?;
        let (set, is_active) = driver.primary_state(device);
        flags.set(set)?;
        active.set(c_int::from(is_active))
    }

    fn cuCtxCreate_v2(driver, context: Out<Handle>, flags: c_uint, device: c_int) {
        let device = driver.device(device)?;
        context.set(driver.create_context(device, flags))
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

    fn cuCtxPushCurrent_v2(driver, context: Handle) {
        driver.push_context(context)
    }

    fn cuCtxPopCurrent_v2(_driver, context: Out<Handle>) {
        let popped = Driver::pop_context()?;
        context.set_if_wanted(popped);
        Ok(())
    }

    fn cuCtxGetDevice(driver, device: Out<c_int>) {
        let context = driver.context()?;
        device.set(driver.device_number(context)?)
    }

    /// Refuses every peer: no device reaches another's memory, as `cuDeviceCanAccessPeer` says.
    fn cuCtxEnablePeerAccess(driver, peer: Handle, flags: c_uint) {
        driver.refuse_peer(peer, flags)
    }

    fn cuCtxDisablePeerAccess(driver, peer: Handle) {
        driver.refuse_peer(peer, 0).map_err(|code| match code {
            Code::PeerAccessUnsupported => Code::PeerAccessNotEnabled,
            other => other,
        })
    }

    fn cuCtxGetApiVersion(_driver, _context: Handle, version: Out<c_uint>) {
        version.set(3020)
    }

    fn cuCtxGetFlags(driver, flags: Out<c_uint>) {
        flags.set(driver.context_flags()?)
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
