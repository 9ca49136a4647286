//! Device memory: allocations with their context.

use super::{Driver, Handle, device::TOTAL_MEMORY, tell};
use crate::driver::code::{Code, Result};

#[derive(Debug)]
pub(crate) struct Allocation {
    device: usize,
    bytes: usize,
    context: Handle,
}

impl Driver {
    /// Returns the bytes in use of a device.
    fn used_on(&self, device: usize) -> u64 {
        let here = self.memory.values().filter(|memory| memory.device == device);
        here.map(|memory| memory.bytes as u64).sum()
    }

    /// Allocates memory, as `cuMemAlloc` does.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Result<u64> {
        let context = self.context()?;
        self.refuse_while_capturing()?;
        self.map(context, bytes)
    }

    /// Frees memory, as `cuMemFree` does; null is allowed.
    pub(crate) fn free(&mut self, at: u64) -> Result {
        self.context()?;
        self.refuse_while_capturing()?;
        self.catch_up_all();
        if at == 0 { Ok(()) } else { self.release(at) }
    }

    /// Allocates memory in the order of a stream.
    pub(crate) fn allocate_in_order(&mut self, bytes: usize, stream: Handle) -> Result<u64> {
        let context = self.stream_context(stream)?;
        self.refuse_captured(stream)?;
        self.map(context, bytes)
    }

    /// Frees memory in the order of a stream.
    pub(crate) fn free_in_order(&mut self, at: u64, stream: Handle) -> Result {
        self.refuse_captured(stream)?;
        let place = self.stream(stream)?;
        self.catch_up(place);
        self.release(at)
    }

    fn refuse_captured(&mut self, stream: Handle) -> Result {
        let stream = self.stream(stream)?;
        if self.streams.get(stream)?.capture.is_some() {
            tell("memory that a graph takes or frees is not supported");
            return Err(Code::NotSupported);
        }
        Ok(())
    }

    fn map(&mut self, context: Handle, bytes: usize) -> Result<u64> {
        if bytes == 0 {
            return Err(Code::InvalidValue);
        }
        let device = self.device_of(context)?;
        if self.used_on(device).saturating_add(bytes as u64) > TOTAL_MEMORY {
            return Err(Code::OutOfMemory);
        }
        let at = self.gpu.alloc_on(device, bytes);
        self.memory.insert(at, Allocation { device, bytes, context });
        Ok(at)
    }

    fn release(&mut self, at: u64) -> Result {
        if self.memory.remove(&at).is_none() {
            tell(format_args!("a free of {at:#x}, where no allocation begins"));
            return Err(Code::InvalidValue);
        }
        self.gpu.free(at).map_err(|_| Code::InvalidValue)
    }

    /// Frees all memory that a context allocated.
    pub(crate) fn free_all(&mut self, context: Handle) {
        let gpu = &mut self.gpu;
        // A missing entry would be a bug of the interpreter, and nothing that the caller could act on.
        self.memory.retain(|at, memory| memory.context != context || gpu.free(*at).is_err());
    }

    /// Returns the free bytes of the thread's device.
    pub(crate) fn free_memory(&self) -> Result<u64> {
        let device = self.device_of(self.context()?)?;
        Ok(TOTAL_MEMORY - self.used_on(device))
    }

    /// Returns the allocation that holds an address: first address and bytes.
    pub(crate) fn range(&self, at: u64) -> Result<(u64, usize)> {
        self.context()?;
        let (first, memory) = self.memory.range(..=at).next_back().ok_or(Code::NotFound)?;
        let is_inside = at - first < memory.bytes as u64;
        is_inside.then_some((*first, memory.bytes)).ok_or(Code::NotFound)
    }
}
