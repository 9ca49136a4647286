//! Buffers that are not in use, by size: an allocation that has been made once is made again for nothing.
//!
//! Shaders run in the order in which they were asked for, so that whoever takes a buffer next comes behind whoever used it last.
//! What the host writes does not: it comes before all that has not been submitted. So uploads are given no buffer that the
//! batch at hand may still use.

use super::meter::Meter;
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Below, sizes are powers of two; from here on multiples of this, so that large tensors waste little.
const LARGE: usize = 2 << 20;

/// The least that is worth a buffer of its own: what bindings are aligned to.
const LEAST: usize = 256;

#[derive(Debug)]
pub(crate) struct Pool {
    /// The device's largest buffer, in bytes.
    most: usize,
    idle: Mutex<HashMap<usize, Vec<Idle>>>,
    /// The number of the batch at hand.
    batch: AtomicU64,
    /// Of all memory that is not idle.
    pub(crate) meter: Meter,
}

#[derive(Debug)]
struct Idle {
    memory: wgpu::Buffer,
    /// The batch that may be the last to use it.
    batch: u64,
}

/// Who takes a buffer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Taker {
    /// A shader or a copy of the batch.
    Batch,
    /// The host, which writes before the batch runs.
    Host,
}

impl Pool {
    pub(crate) fn new(most: u64) -> Self {
        Self {
            most: usize::try_from(most).unwrap_or(usize::MAX),
            idle: Mutex::default(),
            batch: AtomicU64::new(0),
            meter: Meter::default(),
        }
    }

    /// The size of the buffer that holds `bytes`; `None` where no buffer does.
    pub(crate) fn rounded(&self, bytes: usize) -> Option<usize> {
        if bytes > self.most {
            return None;
        }
        let rounded = match bytes {
            ..LARGE => bytes.max(LEAST).next_power_of_two(),
            _ => bytes.next_multiple_of(LARGE),
        };
        Some(rounded.min(self.most / LEAST * LEAST)).filter(|rounded| *rounded >= bytes)
    }

    /// An idle buffer of this rounded size.
    pub(crate) fn take(&self, rounded: usize, taker: Taker) -> Option<wgpu::Buffer> {
        let now = self.batch.load(Ordering::Acquire);
        let mut idle = self.lock();
        let idle = idle.get_mut(&rounded)?;
        let place = idle.iter().rposition(|it| taker == Taker::Batch || it.batch < now)?;
        let memory = idle.swap_remove(place).memory;
        self.meter.add(rounded);
        Some(memory)
    }

    /// What has just been made for somebody.
    pub(crate) fn made(&self, memory: wgpu::Buffer) -> wgpu::Buffer {
        self.meter.add(bytes(&memory));
        memory
    }

    /// Keeps a buffer for whoever comes next.
    pub(super) fn give(&self, memory: wgpu::Buffer) {
        let (size, batch) = (bytes(&memory), self.batch.load(Ordering::Acquire));
        self.meter.remove(size);
        self.lock().entry(size).or_default().push(Idle { memory, batch });
    }

    /// The batch at hand is on its way: what is given back from now on may be used by the next one at most.
    pub(crate) fn next_batch(&self) {
        self.batch.fetch_add(1, Ordering::AcqRel);
    }

    /// Gives all idle buffers back to the driver, which frees them when the device is done with them.
    pub(crate) fn trim(&self) {
        self.lock().clear();
    }

    /// Nothing is half done where a thread could panic.
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Vec<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes(memory: &wgpu::Buffer) -> usize {
    usize::try_from(memory.size()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_rounded_by_half_of_it_at_most_or_two_mebibytes() {
        let pool = Pool::new(5 << 20);
        let sizes = [0, 1, 256, 257, LARGE - 1, LARGE, LARGE + 1];
        let rounded = [256, 256, 256, 512, LARGE, LARGE, 2 * LARGE];
        assert_eq!(sizes.map(|bytes| pool.rounded(bytes)), rounded.map(Some));
    }

    #[test]
    fn what_is_nearly_the_largest_is_the_largest_and_what_is_larger_is_refused() {
        let pool = Pool::new(5 << 20);
        assert_eq!(pool.rounded((5 << 20) - 1), Some(5 << 20));
        assert_eq!(pool.rounded((5 << 20) + 1), None);
    }
}
