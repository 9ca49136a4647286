//! Bytes of the pool's memory in use, and their peak.

use std::sync::atomic::{AtomicUsize, Ordering};

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
pub(super) struct Meter {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Meter {
    pub(super) fn add(&self, bytes: usize) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
    }

    pub(super) fn remove(&self, bytes: usize) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Sets the peak to the bytes in use.
    pub(super) fn reset(&self) {
        self.most.store(self.now.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    pub(super) fn read(&self) -> MemoryUse {
        let [bytes, peak_bytes] =
            [&self.now, &self.most].map(|count| count.load(Ordering::Relaxed));
        MemoryUse { bytes, peak_bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_stays_until_it_is_reset_and_then_begins_with_what_is_in_use() {
        let meter = Meter::default();
        meter.add(512);
        meter.add(1024);
        meter.remove(1024);
        assert_eq!(meter.read(), MemoryUse { bytes: 512, peak_bytes: 1536 });
        meter.reset();
        assert_eq!(meter.read(), MemoryUse { bytes: 512, peak_bytes: 512 });
    }
}
