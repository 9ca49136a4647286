//! Functions on device memory: allocation, copies and fills. Those without a stream run in the legacy stream.

use std::ffi::{c_uchar, c_uint};

use super::{
    abi::{Host, Out},
    call::api,
};
use crate::driver::state::Handle;

api! {
    fn cuMemGetInfo_v2(driver, free: Out<u64>, total: Out<u64>) {
        let (left, all) = driver.memory_info()?;
        free.set(left)?;
        total.set(all)
    }

    fn cuMemAlloc_v2(driver, pointer: Out<u64>, bytes: usize) {
        pointer.set(driver.allocate(bytes)?)
    }

    fn cuMemFree_v2(driver, pointer: u64) {
        driver.free(pointer)
    }

    fn cuMemAllocAsync(driver, pointer: Out<u64>, bytes: usize, stream: Handle) {
        pointer.set(driver.allocate_in_order(bytes, 0, stream)?)
    }

    fn cuMemAllocFromPoolAsync(
        driver,
        pointer: Out<u64>,
        bytes: usize,
        pool: Handle,
        stream: Handle,
    ) {
        pointer.set(driver.allocate_in_order(bytes, pool, stream)?)
    }

    fn cuMemFreeAsync(driver, pointer: u64, stream: Handle) {
        driver.free_in_order(pointer, stream)
    }

    fn cuMemcpyHtoD_v2(driver, to: u64, from: Host, bytes: usize) {
        driver.submit_upload(to, from.span(bytes)?, 0)
    }

    fn cuMemcpyHtoDAsync_v2(driver, to: u64, from: Host, bytes: usize, stream: Handle) {
        driver.submit_upload(to, from.span(bytes)?, stream)
    }

    fn cuMemcpyDtoH_v2(driver, to: Host, from: u64, bytes: usize) {
        driver.submit_download(to.span(bytes)?, from, 0)
    }

    fn cuMemcpyDtoHAsync_v2(driver, to: Host, from: u64, bytes: usize, stream: Handle) {
        driver.submit_download(to.span(bytes)?, from, stream)
    }

    fn cuMemcpyDtoD_v2(driver, to: u64, from: u64, bytes: usize) {
        driver.submit_copy(to, from, bytes, 0)
    }

    fn cuMemcpyDtoDAsync_v2(driver, to: u64, from: u64, bytes: usize, stream: Handle) {
        driver.submit_copy(to, from, bytes, stream)
    }

    /// Copies between devices. The contexts name the devices, which the addresses must agree with.
    fn cuMemcpyPeerAsync(
        driver,
        to: u64,
        to_context: Handle,
        from: u64,
        from_context: Handle,
        bytes: usize,
        stream: Handle,
    ) {
        driver.submit_peer_copy((to, to_context), (from, from_context), bytes, stream)
    }

    fn cuMemsetD8_v2(driver, at: u64, value: c_uchar, count: usize) {
        driver.submit_fill(at, vec![value], count, 0)
    }

    fn cuMemsetD8Async(driver, at: u64, value: c_uchar, count: usize, stream: Handle) {
        driver.submit_fill(at, vec![value], count, stream)
    }

    fn cuMemsetD32_v2(driver, at: u64, value: c_uint, count: usize) {
        driver.submit_fill(at, value.to_le_bytes().to_vec(), count, 0)
    }

    fn cuMemsetD32Async(driver, at: u64, value: c_uint, count: usize, stream: Handle) {
        driver.submit_fill(at, value.to_le_bytes().to_vec(), count, stream)
    }
}
