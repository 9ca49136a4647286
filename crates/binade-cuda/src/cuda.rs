//! The handle.

use crate::{
    CaptureError, CudaError, DeviceCounters, Error,
    capture::{Gate, Recorder},
    counters::Counters,
    faults::Faults,
    kernels,
    launch::{self, Entry},
    library::Library,
    memory::{Pool, Ring, SharedBuffers, Tables},
    probe::{self, Capability},
};
use binade_core::Names;
use cudarc::driver::CudaStream;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
};

/// Bytes of the smallest buffer: the size that the driver rounds up to.
const LEAST_BUFFER: usize = 512;

/// A CUDA device and the stream of all its work. A clone is the same device.
///
/// # Contract
///
/// * Only these calls wait for the device: `download` and its kin, `resolve`, `Scaler::state`, an optimizer that reads the verdict, and a step
///   without any gradient, which must know whether it is skipped. [`DeviceCounters::syncs`] counts them. An upload waits, and is counted, only while
///   256 MiB of other uploads are in progress.
/// * The host's next read, of a tensor or a step's outcome, reports an index or label out of range as [`Error::Index`], once. Results computed from
///   it are NaN.
/// * A value belongs to the handle that made it and to its clones; another handle refuses it.
/// * Work is put in one stream, in the order of the calls; the stream is the caller's where the caller gives one.
/// * A device error that CUDA cannot recover from is the device's last: every later call gives [`CudaError::Lost`] with the
///   first cause, drops do not panic, and other devices go on.
#[derive(Clone)]
pub struct Cuda {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) stream: Arc<CudaStream>,
    /// Stream of uploads that run concurrently with other work, once there are any.
    pub(crate) copies: OnceLock<Arc<CudaStream>>,
    pub(crate) capability: Capability,
    pub(crate) pool: Arc<Pool>,
    /// Pinned memory for copies to the device.
    pub(crate) staging: Arc<Ring>,
    /// Pinned memory for copies to the host.
    pub(crate) reports: Arc<Ring>,
    pub(crate) tables: Tables,
    pub(crate) names: Arc<Names>,
    pub(crate) faults: Faults,
    pub(crate) library: Library,
    pub(crate) entries: Mutex<HashMap<&'static str, Arc<Entry>>>,
    pub(crate) counters: Counters,
    /// The error that the device did not outlive.
    pub(crate) lost: OnceLock<Error>,
    /// Name of the last launch, for error messages.
    pub(crate) last: Mutex<&'static str>,
    pub(crate) shared_buffers: OnceLock<SharedBuffers>,
}

/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: usize = 2;

impl Cuda {
    /// Opens device `ordinal`, and creates a stream for it.
    ///
    /// # Errors
    ///
    /// If there is no driver or no such device, or the device is too old. The error names what was looked for.
    pub fn open(ordinal: usize) -> Result<Self, Error> {
        Self::on(Self::stream_of(ordinal)?)
    }

    /// A new stream of device `ordinal`.
    pub(crate) fn stream_of(ordinal: usize) -> Result<Arc<CudaStream>, Error> {
        let context = probe::open(ordinal)?;
        let failed = |error| Error::Driver(CudaError::DriverFailed { cause: probe::cause(error) });
        launch::only_stream(&context).map_err(failed)
    }

    /// Opens the device of `stream` and works in that stream, which a framework may use too.
    ///
    /// # Errors
    ///
    /// When the device fails, is too old, or `stream` is `cudarc`'s `per_thread_stream`, which is another one on each
    /// thread: memory goes from one thread's work to another's in the order of one stream.
    pub fn on(stream: Arc<CudaStream>) -> Result<Self, Error> {
        Self::naming(stream, Arc::default())
    }

    /// Works in `stream`, with the numbers that `names` gives to parameters.
    pub(crate) fn naming(stream: Arc<CudaStream>, names: Arc<Names>) -> Result<Self, Error> {
        if stream.cu_stream() as usize == PER_THREAD {
            return Err(Error::Driver(CudaError::PerThreadStream));
        }
        let capability = probe::capable(stream.context())?;
        kernels::check().map_err(Error::Driver)?;
        let pool = Arc::new(Pool::new(Recorder::new(Gate::of(&stream)), LEAST_BUFFER, usize::MAX));
        let inner = Inner {
            stream,
            copies: OnceLock::new(),
            capability,
            pool,
            staging: Arc::default(),
            reports: Arc::default(),
            tables: Tables::default(),
            names,
            faults: Faults::default(),
            library: Library::default(),
            entries: Mutex::default(),
            counters: Counters::default(),
            lost: OnceLock::new(),
            shared_buffers: OnceLock::new(),
            last: Mutex::new("none"),
        };
        let cuda = Self { inner: Arc::new(inner) };
        cuda.shared_buffers()?;
        Ok(cuda)
    }

    /// The stream that all work is put in.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.inner.stream
    }

    /// Returns the counts of the host's work so far.
    pub fn counters(&self) -> DeviceCounters {
        self.inner.counters.read()
    }

    /// The device's name, as the driver has it.
    ///
    /// # Errors
    ///
    /// When the device fails.
    pub fn name(&self) -> Result<String, Error> {
        self.check("name", self.inner.stream.context().name())
    }

    /// Waits until all enqueued work is done.
    ///
    /// # Errors
    ///
    /// The first error since the host last waited for the device.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.outside("synchronize", CaptureError::Read, |stream| {
            self.inner.counters.syncs.add(1);
            stream.synchronize()
        })
    }

    /// Gives memory that is not in use back to the driver. Within the captured run of a [`capture`](Self::capture) it does
    /// nothing, and the capture fails; while another thread, or another handle, captures the stream it does nothing.
    pub fn trim(&self) {
        // A refused call has done nothing, and later calls report errors of the device.
        let _ = self.outside("trim", CaptureError::Read, |_| {
            self.inner.tables.clear();
            self.inner.pool.trim();
            Ok(())
        });
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cuda").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
