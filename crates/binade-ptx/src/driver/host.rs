//! Host memory and host functions of a caller, read, written and called behind safe methods.

use std::ffi::c_void;

/// Host memory of a caller. CUDA's rules make the caller keep it until the copy is done, or the last launch of a graph that holds
/// the copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostSpan {
    first: *mut u8,
    bytes: usize,
}

// SAFETY: the span is an address that CUDA lets any thread's launch use; the caller who gave it orders the accesses.
unsafe impl Send for HostSpan {}
// SAFETY: as above; a shared span does nothing until `read` or `write` is called, under the driver's lock.
unsafe impl Sync for HostSpan {}

impl HostSpan {
    /// # Safety
    /// `first` points to `bytes` bytes that stay readable, and writable where the copy writes them, for as long as the type's page
    /// says, and no other thread changes them meanwhile.
    pub(super) unsafe fn new(first: *mut u8, bytes: usize) -> Self {
        Self { first, bytes }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn address(&self) -> usize {
        self.first.addr()
    }

    /// Reads as many bytes as `into` or the span holds, whichever is fewer.
    pub(super) fn read(&self, into: &mut [u8]) {
        let count = into.len().min(self.bytes);
        if count > 0 {
            // SAFETY: the source is readable for `count` bytes at least, which `new` demanded; the destination is a slice of ours,
            // which no caller's memory overlaps.
            unsafe { std::ptr::copy_nonoverlapping(self.first, into.as_mut_ptr(), count) };
        }
    }

    /// Writes as much of `bytes` as the span holds.
    pub(super) fn write(&self, bytes: &[u8]) {
        let count = bytes.len().min(self.bytes);
        if count > 0 {
            // SAFETY: the destination is writable for `count` bytes at least, which `new` demanded; the source is a slice of ours,
            // which no caller's memory overlaps.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.first, count) };
        }
    }
}

/// C type `CUhostFn`.
pub(super) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Host function with its argument, called in a stream's order.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostCall {
    function: HostFunction,
    data: *mut c_void,
}

// SAFETY: CUDA calls such functions from its own threads, so the caller has made the function safe for that.
unsafe impl Send for HostCall {}
// SAFETY: as above; calls happen one at a time, under the driver's lock.
unsafe impl Sync for HostCall {}

impl HostCall {
    /// # Safety
    /// `function` may be called with `data` from any thread, as often as the work that holds it is launched.
    pub(super) unsafe fn new(function: HostFunction, data: *mut c_void) -> Self {
        Self { function, data }
    }

    pub(super) fn run(&self) {
        // SAFETY: `new` demanded that this call is allowed.
        unsafe { (self.function)(self.data) }
    }
}
