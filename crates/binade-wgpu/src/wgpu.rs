//! Handle of a wgpu device.

use crate::{
    DeviceCounters, DeviceLimits, Error, Options,
    counters::Counters,
    dispatch::{Batch, Pipelines},
    faults::Faults,
    health::Health,
    memory::{Buffer, Pool, Ring},
    open,
};
use binade_core::Names;
use binade_gpu::{Driver, OwedBits, made_once};
use std::{
    fmt,
    sync::{Arc, Mutex, OnceLock, atomic::AtomicU64},
};
use wgpu::{Device, Queue};

/// Bytes of the smallest buffer, which is the alignment of bindings.
const LEAST_BUFFER: usize = 256;

/// Device of wgpu, over Vulkan, Metal or DX12, with the queue of all its work. A clone refers to the same device.
///
/// # Contract
///
/// * Nothing waits for the device but what says so: `download`, `to_bits`, `resolve`, `Scaler::state` and `synchronize`. [`DeviceCounters::syncs`] counts them.
/// * Work is gathered and submitted when somebody reads, or when enough has come together; what is asked for runs in the order
///   of the calls.
/// * A value belongs to the handle that made it and to its clones; another handle refuses it.
/// * No optional feature of wgpu is asked for. [`facts`](Self::facts) says which of `f16` and subgroups the device has.
/// * A mistake in what is sent to the device is an error, not a panic, and is every later call's too: values that were asked for
///   never came to be. A device that is lost gives [`WgpuError::Lost`](crate::WgpuError::Lost), for good.
#[derive(Clone)]
pub struct Wgpu {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) facts: DeviceLimits,
    pub(crate) pool: Arc<Pool>,
    /// Memory that the host can read.
    pub(crate) reports: Arc<Ring>,
    pub(crate) pipelines: Pipelines,
    pub(crate) batch: Mutex<Batch>,
    pub(crate) counters: Counters,
    pub(crate) faults: Faults,
    pub(crate) health: Arc<Health>,
    pub(crate) names: Names,
    fixed: OnceLock<SharedBuffers>,
}

/// Small constant values that every step reads.
#[derive(Debug)]
pub(crate) struct SharedBuffers {
    /// `Owed` of gradients without pending factors.
    pub(crate) unit_factors: Arc<Buffer>,
    /// Word with the value 1, for gradients that are certainly present.
    pub(crate) there: Arc<Buffer>,
}

impl Wgpu {
    /// Opens the adapter whose name contains the value of the environment variable `BINADE_WGPU_ADAPTER`. If it is not set, it opens the fastest
    /// kind: a discrete GPU, an integrated one, a virtual one, or the CPU.
    ///
    /// # Errors
    ///
    /// Returns [`NoAdapter`](crate::WgpuError::NoAdapter), which says what to install, or [`NoDevice`](crate::WgpuError::NoDevice) for an adapter
    /// that does not start.
    pub fn open() -> Result<Self, Error> {
        Self::open_with(&Options::default())
    }

    /// Opens an adapter as `options` say.
    ///
    /// # Errors
    ///
    /// The errors of [`open`](Self::open).
    pub fn open_with(options: &Options) -> Result<Self, Error> {
        let opened = open::open(options)?;
        let most = usize::try_from(opened.facts.most_buffer_bytes).unwrap_or(usize::MAX);
        let pool = Arc::new(Pool::new(AtomicU64::new(0), LEAST_BUFFER, most));
        let batch = Mutex::new(Batch::new(&opened.device));
        let inner = Inner {
            device: opened.device,
            queue: opened.queue,
            facts: opened.facts,
            pool,
            reports: Arc::default(),
            pipelines: Pipelines::default(),
            batch,
            counters: Counters::default(),
            faults: Faults::default(),
            health: opened.health,
            names: Names::default(),
            fixed: OnceLock::new(),
        };
        let wgpu = Self { inner: Arc::new(inner) };
        wgpu.fixed()?;
        Ok(wgpu)
    }

    /// Returns the small constant values, which are made when the device is opened.
    pub(crate) fn fixed(&self) -> Result<&SharedBuffers, Error> {
        made_once(&self.inner.fixed, || {
            Ok(SharedBuffers {
                unit_factors: Arc::new(self.buffer_of(bytemuck::bytes_of(&OwedBits::NOTHING))?),
                there: Arc::new(self.buffer_of(&1_u32.to_le_bytes())?),
            })
        })
    }

    /// Returns the facts of the device.
    pub fn facts(&self) -> &DeviceLimits {
        &self.inner.facts
    }

    /// Returns wgpu's own device, for inspection. Work that others put in its queue is not ordered with this handle's work.
    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    /// Returns the counts of the host's work so far.
    pub fn counters(&self) -> DeviceCounters {
        self.inner.counters.read()
    }

    /// Waits until all requested work is done.
    ///
    /// # Errors
    ///
    /// Returns an error if the device fails, or has failed.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.submit()?;
        self.wait(None)
    }

    /// Returns idle memory to the driver.
    pub fn trim(&self) {
        self.inner.pool.trim();
        self.inner.reports.trim();
    }
}

impl fmt::Debug for Wgpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adapter = &self.inner.facts.adapter;
        f.debug_struct("Wgpu").field("adapter", adapter).finish_non_exhaustive()
    }
}
