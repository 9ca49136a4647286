//! Pool of idle buffers by size, so that repeated allocations cost nothing.
//!
//! All work of a device is in one order, so a buffer's next user runs after its last one, without waiting.

use crate::lock;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Sizes below are powers of two; from here on they are multiples of this, so that large tensors waste little.
const LARGE: usize = 2 << 20;

/// Device memory in use, in bytes, each buffer as large as the pool made it: powers of two from the driver's least size on,
/// and multiples of 2 MiB from there. Idle buffers of the pool do not count; memory that a captured step keeps for its replays
/// does.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MemoryUse {
    /// Bytes in use now.
    pub bytes: usize,
    /// Most bytes in use at once since the device was opened, or since the peak was reset.
    pub peak_bytes: usize,
}

/// Counts the bytes that are taken from a pool and given back.
#[derive(Debug, Default)]
struct Meter {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Meter {
    fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    fn remove(&self, bytes: usize) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Sets the peak to the bytes in use.
    fn reset(&self) {
        self.most.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn read(&self) -> MemoryUse {
        let [bytes, peak_bytes] =
            [&self.now, &self.most].map(|count| count.load(Ordering::Relaxed));
        MemoryUse { bytes, peak_bytes }
    }
}

/// One allocation of a driver.
pub trait Memory: fmt::Debug + Send + Sync + Sized + 'static {
    /// The driver's state beside a pool, which decides over memory that comes back.
    type State: fmt::Debug + Send + Sync;

    /// Returns the bytes of the allocation.
    fn bytes(&self) -> usize;

    /// Returns unused memory that the pool keeps idle, or `None` if `state` keeps it.
    #[must_use]
    fn retire(self, state: &Self::State) -> Option<Self>;

    /// Frees the idle memory of a pool that is dropped.
    fn free(idle: impl Iterator<Item = Self>, _state: &Self::State) {
        idle.for_each(drop);
    }
}

/// Memory that is passed to kernels by address.
pub trait Addressed: Memory {
    /// Returns the device address of its first byte.
    fn address(&self) -> u64;
}

/// Idle memory of one device, and the count of what is in use.
#[derive(Debug)]
pub struct Pool<M: Memory> {
    /// The driver's state.
    pub state: M::State,
    /// Bytes of the smallest allocation.
    least: usize,
    /// Bytes of the largest allocation.
    most: usize,
    idle: Mutex<HashMap<usize, Vec<M>>>,
    meter: Meter,
}

impl<M: Memory> Pool<M> {
    /// Returns an empty pool of allocations of `least` to `most` bytes; `least` is a power of two.
    pub fn new(state: M::State, least: usize, most: usize) -> Self {
        Self { state, least, most, idle: Mutex::default(), meter: Meter::default() }
    }

    /// Returns the size of the allocation that holds `bytes`, or nothing where it would be larger than the device's largest.
    pub fn rounded(&self, bytes: usize) -> Option<usize> {
        let rounded = match bytes {
            ..LARGE => bytes.max(self.least).next_power_of_two(),
            _ => bytes.checked_next_multiple_of(LARGE)?,
        };
        Some(rounded.min(self.most / self.least * self.least)).filter(|rounded| *rounded >= bytes)
    }

    /// Takes the most recently returned idle memory of this rounded size that `may_take` accepts.
    pub fn take(&self, rounded: usize, may_take: impl Fn(&M) -> bool) -> Option<M> {
        let mut idle = lock(&self.idle);
        let idle = idle.get_mut(&rounded)?;
        let place = idle.iter().rposition(may_take)?;
        self.meter.add(rounded);
        Some(idle.swap_remove(place))
    }

    /// Counts an allocation that has just been made.
    pub fn count(&self, bytes: usize) {
        self.meter.add(bytes);
    }

    /// Keeps unused memory, unless the driver's state takes it.
    pub fn give(&self, memory: M) {
        let Some(memory) = memory.retire(&self.state) else { return };
        let bytes = memory.bytes();
        self.meter.remove(bytes);
        lock(&self.idle).entry(bytes).or_default().push(memory);
    }

    /// Gives all idle memory back to the driver.
    pub fn trim(&self) {
        lock(&self.idle).clear();
    }

    /// Returns the bytes in use.
    pub fn memory_use(&self) -> MemoryUse {
        self.meter.read()
    }

    /// Sets the peak to the bytes in use.
    pub fn reset_peak(&self) {
        self.meter.reset();
    }
}

impl<M: Memory> Drop for Pool<M> {
    fn drop(&mut self) {
        let idle = std::mem::take(&mut *lock(&self.idle));
        M::free(idle.into_values().flatten(), &self.state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory of this many bytes.
    #[derive(Debug, PartialEq)]
    struct Bytes(usize);

    impl Memory for Bytes {
        type State = ();

        fn bytes(&self) -> usize {
            self.0
        }

        fn retire(self, (): &()) -> Option<Self> {
            Some(self)
        }
    }

    fn pool() -> Pool<Bytes> {
        Pool::new((), 256, 5 << 20)
    }

    #[test]
    fn a_size_is_rounded_by_half_of_it_at_most_or_two_mebibytes() {
        let sizes = [0, 1, 256, 257, LARGE - 1, LARGE, LARGE + 1];
        let rounded = [256, 256, 256, 512, LARGE, LARGE, 2 * LARGE];
        assert_eq!(sizes.map(|bytes| pool().rounded(bytes)), rounded.map(Some));
    }

    #[test]
    fn nearly_the_largest_is_the_largest_and_anything_larger_is_refused() {
        assert_eq!(pool().rounded((5 << 20) - 1), Some(5 << 20));
        assert_eq!([(5 << 20) + 1, usize::MAX].map(|bytes| pool().rounded(bytes)), [None; 2]);
    }

    #[test]
    fn memory_that_came_back_is_taken_again_and_counted_once() {
        let pool = pool();
        pool.count(512);
        pool.give(Bytes(512));
        assert_eq!(pool.memory_use(), MemoryUse { bytes: 0, peak_bytes: 512 });
        assert_eq!(pool.take(512, |_| false), None);
        assert_eq!(pool.take(512, |_| true), Some(Bytes(512)));
        assert_eq!(pool.memory_use(), MemoryUse { bytes: 512, peak_bytes: 512 });
        pool.count(1024);
        pool.give(Bytes(1024));
        assert_eq!(pool.memory_use(), MemoryUse { bytes: 512, peak_bytes: 1536 });
        pool.reset_peak();
        assert_eq!(pool.memory_use(), MemoryUse { bytes: 512, peak_bytes: 512 });
    }
}
