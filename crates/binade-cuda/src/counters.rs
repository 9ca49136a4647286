//! Counts of the host's work for the device.

use crate::F32Products;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the device was opened.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct DeviceCounters {
    /// Kernels launched, and products and convolutions that a library was given.
    pub launches: u64,
    /// Times that the host waited for the device.
    pub syncs: u64,
    /// Products that the library was given. A batch counts as one, but in [`Bmm`](binade_ops::Bmm) forward each pair does; the
    /// kernels that the library launches for one are not counted.
    pub library: u64,
    /// Convolutions and gradients of theirs that cuDNN was given, likewise.
    pub convolutions: u64,
    /// Products and convolutions of `f32` among these whose library may multiply by TF32: none, unless
    /// [`Cuda::with_f32_products`](crate::Cuda::with_f32_products) asks for it.
    pub tf32: u64,
    /// Times that a library was asked for an algorithm or a workspace: once for a product of its shape, types, places and
    /// alignments.
    pub searches: u64,
    /// Tables of addresses and constants that were uploaded because one of them had changed.
    pub tables: u64,
    /// Bytes of these tables.
    pub table_bytes: u64,
    /// Copies of step reports that were started towards the host; starting one waits for nothing.
    pub reports: u64,
    /// Captured steps that were replayed, each in one launch of its own; their kernels are not counted again.
    pub replays: u64,
    /// Times that this device was made to wait for another of its [`Replicas`](crate::Replicas), by an event; the host does not.
    pub meetings: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    syncs: AtomicU64,
    launches: AtomicU64,
    library: AtomicU64,
    convolutions: AtomicU64,
    tf32: AtomicU64,
    searches: AtomicU64,
    tables: AtomicU64,
    table_bytes: AtomicU64,
    reports: AtomicU64,
    replays: AtomicU64,
    meetings: AtomicU64,
}

impl Counters {
    pub(crate) fn sync(&self) {
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn library(&self, how: F32Products) {
        self.library.fetch_add(1, Ordering::Relaxed);
        self.multiplied(how);
    }

    #[cfg_attr(not(feature = "cudnn"), expect(dead_code, reason = "none is given away"))]
    pub(crate) fn convolution(&self, how: F32Products) {
        self.convolutions.fetch_add(1, Ordering::Relaxed);
        self.multiplied(how);
    }

    fn multiplied(&self, how: F32Products) {
        let by_tf32 = u64::from(how == F32Products::Tf32);
        self.tf32.fetch_add(by_tf32, Ordering::Relaxed);
    }

    pub(crate) fn search(&self) {
        self.searches.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn table(&self, bytes: usize) {
        self.tables.fetch_add(1, Ordering::Relaxed);
        self.table_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn report(&self) {
        self.reports.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn replay(&self) {
        self.replays.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn meeting(&self) {
        self.meetings.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> DeviceCounters {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DeviceCounters {
            syncs: now(&self.syncs),
            launches: now(&self.launches),
            library: now(&self.library),
            convolutions: now(&self.convolutions),
            tf32: now(&self.tf32),
            searches: now(&self.searches),
            tables: now(&self.tables),
            table_bytes: now(&self.table_bytes),
            reports: now(&self.reports),
            replays: now(&self.replays),
            meetings: now(&self.meetings),
        }
    }
}
