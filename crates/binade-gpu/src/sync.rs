//! Locks, and counts of the host's work.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

/// Locks a mutex whose data is whole even after a panic, since no change of it can stop halfway.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Count of one kind of work.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts this much more.
    pub fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Relaxed);
    }

    /// Returns the count.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares a device's `DeviceCounters`, which users read, and the `Counters` behind them.
#[macro_export]
macro_rules! device_counters {
    ($($(#[$doc:meta])+ $name:ident,)+) => {
        /// Counts since the device was opened.
        #[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
        pub struct DeviceCounters {
            $($(#[$doc])+ pub $name: u64,)+
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: $crate::Counter,)+
        }

        impl Counters {
            pub(crate) fn read(&self) -> DeviceCounters {
                DeviceCounters { $($name: self.$name.get(),)+ }
            }
        }
    };
}
