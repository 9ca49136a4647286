//! Device memory with its address, and the captures that decide over it when it comes back.

use super::Buffer;
use crate::capture::{ArenaSlot, Recorder};
use binade_gpu::Addressed;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr};
use std::ops::Range;

/// Device memory and its address: to ask cudarc each time would put an event in the stream each time.
#[derive(Debug)]
pub struct Memory {
    slice: CudaSlice<u8>,
    pub(crate) address: u64,
    /// The capture that it was made for.
    pub(crate) home: Option<ArenaSlot>,
}

impl Memory {
    pub(crate) fn new(slice: CudaSlice<u8>, stream: &CudaStream) -> Self {
        let (address, _) = slice.device_ptr(stream);
        Self { slice, address, home: None }
    }
}

impl binade_gpu::Memory for Memory {
    /// Captures and captured steps, which have memory of their own.
    type State = Recorder;

    fn bytes(&self) -> usize {
        self.slice.len()
    }

    fn retire(self, recorder: &Recorder) -> Option<Self> {
        recorder.give(self)
    }

    fn free(idle: impl Iterator<Item = Self>, recorder: &Recorder) {
        recorder.gate.bury(idle);
    }
}

impl Addressed for Memory {
    fn address(&self) -> u64 {
        self.address
    }
}

/// These bytes of a buffer; `None` where it has not as many.
pub(crate) fn view(buffer: &Buffer, bytes: Range<usize>) -> Option<CudaView<'_, u8>> {
    if bytes.end > buffer.bytes() {
        return None;
    }
    buffer.memory().slice.try_slice(bytes)
}

/// All bytes of a buffer, to write to.
pub(crate) fn view_mut(buffer: &mut Buffer) -> Option<CudaViewMut<'_, u8>> {
    let bytes = buffer.bytes();
    buffer.memory_mut().slice.try_slice_mut(..bytes)
}
