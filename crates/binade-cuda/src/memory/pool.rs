//! Buffers that are not in use, by size: an allocation that has been made once is made again for nothing.
//!
//! All work of a device is in one stream, so that whoever takes a buffer next comes behind whoever used it last, and none
//! waits for it.

use super::meter::Meter;
use crate::capture::{Gate, Home, Recorder};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Below, sizes are powers of two; from here on multiples of this, so that large tensors waste little.
const LARGE: usize = 2 << 20;

/// The least that is worth a buffer of its own: what the driver rounds up to.
const LEAST: usize = 512;

#[derive(Debug)]
pub(crate) struct Pool {
    idle: Mutex<HashMap<usize, Vec<Memory>>>,
    /// Captures and captured steps, which have memory of their own.
    pub(crate) recorder: Recorder,
    /// Of all memory that is not idle here: what captures keep is theirs.
    pub(crate) meter: Meter,
}

/// Device memory, and where it is: to ask cudarc each time would put an event in the stream each time.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(super) slice: CudaSlice<u8>,
    pub(crate) address: u64,
    /// The capture that it was made for.
    pub(crate) home: Option<Home>,
}

impl Memory {
    pub(crate) fn new(slice: CudaSlice<u8>, stream: &CudaStream) -> Self {
        let (address, _) = slice.device_ptr(stream);
        Self { slice, address, home: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slice.len()
    }
}

impl Pool {
    /// Of a handle whose stream has this gate.
    pub(crate) fn new(gate: Arc<Gate>) -> Self {
        Self { idle: Mutex::default(), recorder: Recorder::new(gate), meter: Meter::default() }
    }

    /// The size of the buffer that holds `bytes`.
    pub(crate) fn rounded(bytes: usize) -> usize {
        match bytes {
            ..LARGE => bytes.max(LEAST).next_power_of_two(),
            _ => bytes.next_multiple_of(LARGE),
        }
    }

    /// An idle buffer of this rounded size.
    pub(crate) fn take(&self, rounded: usize) -> Option<Memory> {
        let memory = self.lock().get_mut(&rounded)?.pop()?;
        self.meter.add(memory.bytes());
        Some(memory)
    }

    /// Keeps a buffer for whoever comes next: in a capture of which it is, or the step that has its address, or here.
    pub(crate) fn give(&self, memory: Memory) {
        let Some(memory) = self.recorder.give(memory) else { return };
        self.meter.remove(memory.bytes());
        self.lock().entry(memory.slice.len()).or_default().push(memory);
    }

    /// Gives all idle buffers back to the driver.
    pub(crate) fn trim(&self) {
        self.lock().clear();
    }

    /// Nothing is half done where a thread could panic.
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Vec<Memory>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *self.lock());
        self.recorder.gate.bury(idle.into_values().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_rounded_by_half_of_it_at_most_or_two_mebibytes() {
        assert_eq!([0, 1, 512, 513].map(Pool::rounded), [512, 512, 512, 1024]);
        assert_eq!([LARGE - 1, LARGE, LARGE + 1].map(Pool::rounded), [LARGE, LARGE, 2 * LARGE]);
    }
}
