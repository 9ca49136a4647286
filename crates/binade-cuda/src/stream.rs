//! Enqueueing kernels in the stream, and the state of the device after a failure.

use crate::{
    CaptureError, Cuda, CudaError, Error,
    capture::words,
    kernels,
    launch::{self, Arg, Entry, Grid},
    probe,
};
use binade_gpu::lock;
use cudarc::driver::{CudaEvent, CudaStream, DriverError, sys::CUresult};
use std::sync::Arc;

impl Cuda {
    /// Puts a kernel in the stream.
    pub(crate) fn launch(
        &self,
        kernel: &'static str,
        grid: Grid,
        args: &[Arg<'_>],
    ) -> Result<(), Error> {
        let recorder = &self.inner.pool.state;
        self.check_alive()?;
        let _turn = recorder.turn(kernel)?;
        if recorder.is_running() {
            recorder.note(kernel, || launch_words(grid, args))?;
        }
        let launched = self.entry(kernel)?.launch(&self.inner.stream, grid, args);
        self.launched(kernel);
        launched.map_err(|error| self.failed("launch", error))
    }

    /// Counts a launch, and names it as the last one.
    pub(crate) fn launched(&self, name: &'static str) {
        *lock(&self.inner.last) = name;
        self.inner.counters.launches.add(1);
    }

    /// Runs `work` with the stream, the only access to it. No capture begins or ends meanwhile, so a condition that `work` checks holds until it has
    /// enqueued. `work` must not call this again.
    pub(crate) fn with_stream<T>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Arc<CudaStream>) -> T,
    ) -> Result<T, Error> {
        let _turn = self.inner.pool.state.turn(operation)?;
        Ok(work(&self.inner.stream))
    }

    /// Enqueues work that can be captured. During a capture the work must equal the warm-up's.
    pub(crate) fn enqueue<T>(
        &self,
        operation: &'static str,
        words: impl FnOnce() -> Vec<u64>,
        work: impl FnOnce(&Arc<CudaStream>) -> Result<T, DriverError>,
    ) -> Result<T, Error> {
        self.with_stream(operation, |stream| {
            self.inner.pool.state.note(operation, words)?;
            self.check(operation, work(stream))
        })?
    }

    /// Does work with the stream that a graph cannot hold. During a capture that is the error `why`.
    pub(crate) fn outside<T>(
        &self,
        operation: &'static str,
        why: CaptureError,
        work: impl FnOnce(&Arc<CudaStream>) -> Result<T, DriverError>,
    ) -> Result<T, Error> {
        self.with_stream(operation, |stream| {
            self.inner.pool.state.refuse(operation, why)?;
            self.check(operation, work(stream))
        })?
    }

    /// Returns the milliseconds between two events that were recorded in the stream. The host waits for the second.
    ///
    /// # Errors
    ///
    /// If the device fails, or the events were made without times.
    pub fn elapsed_ms(&self, start: &CudaEvent, end: &CudaEvent) -> Result<f32, Error> {
        self.reads("time")?;
        self.bind()?;
        self.inner.counters.syncs.add(1);
        let waited = end.synchronize();
        self.check("time", waited.and_then(|()| launch::elapsed_ms(start, end)))
    }

    /// Returns true within the captured run of a capture.
    pub(crate) fn is_captured(&self) -> bool {
        self.inner.pool.state.running() == Some(true)
    }

    /// Refuses to wait for the device where a step is captured.
    pub(crate) fn reads(&self, operation: &'static str) -> Result<(), Error> {
        self.inner.pool.state.refuse(operation, CaptureError::Read)
    }

    /// Loaded when it is launched for the first time.
    pub(crate) fn entry(&self, kernel: &'static str) -> Result<Arc<Entry>, Error> {
        let mut entries = lock(&self.inner.entries);
        if let Some(entry) = entries.get(kernel) {
            return Ok(entry.clone());
        }
        let load = || Entry::load(self.inner.stream.context(), kernel);
        let loaded = entries.values().find_map(|other| other.sibling(kernel)).unwrap_or_else(load);
        let entry = match loaded {
            Err(error) if error.0 == CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                return Err(driver_too_old(kernel));
            }
            other => Arc::new(self.check("load a kernel", other)?),
        };
        entries.insert(kernel, entry.clone());
        Ok(entry)
    }

    /// The error of a device that is lost.
    pub(crate) fn check_alive(&self) -> Result<(), Error> {
        self.inner.lost.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// An error that CUDA does not recover from is stored, and every later call returns it.
    pub(crate) fn check<T>(
        &self,
        call: &'static str,
        result: Result<T, DriverError>,
    ) -> Result<T, Error> {
        self.check_alive()?;
        result.map_err(|error| self.failed(call, error))
    }

    fn failed(&self, call: &'static str, error: DriverError) -> Error {
        let cause = probe::cause(error);
        if !is_sticky(error.0) {
            return Error::Driver(CudaError::Call { call, cause });
        }
        let kernel = *lock(&self.inner.last);
        self.inner.lost.get_or_init(|| Error::Driver(CudaError::Lost { cause, kernel })).clone()
    }
}

/// Returns true for errors after which, by the driver's documentation, the process must be restarted to use the device.
fn is_sticky(error: CUresult) -> bool {
    use CUresult as E;
    matches!(
        error,
        E::CUDA_ERROR_ILLEGAL_ADDRESS
            | E::CUDA_ERROR_LAUNCH_TIMEOUT
            | E::CUDA_ERROR_LAUNCH_FAILED
            | E::CUDA_ERROR_MISALIGNED_ADDRESS
            | E::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | E::CUDA_ERROR_INVALID_PC
            | E::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | E::CUDA_ERROR_HARDWARE_STACK_ERROR
            | E::CUDA_ERROR_ASSERT
            | E::CUDA_ERROR_ECC_UNCORRECTABLE
            | E::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | E::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | E::CUDA_ERROR_DEINITIALIZED
            | E::CUDA_ERROR_UNKNOWN
    )
}

/// All that the host gives a launch.
fn launch_words(grid: Grid, args: &[Arg<'_>]) -> Vec<u64> {
    let mut all = vec![grid.blocks.into(), grid.threads.into()];
    for arg in args {
        match arg {
            Arg::Address(value) | Arg::U64(value) => all.push(*value),
            Arg::U32(value) => all.push((*value).into()),
            Arg::F32(value) => all.push(value.to_bits().into()),
            // The number differs in each run.
            Arg::Number(_) => {}
            Arg::Bytes(bytes) => all.extend(words(bytes)),
        }
    }
    all
}

fn driver_too_old(kernel: &'static str) -> Error {
    let version = launch::driver_version().unwrap_or_default();
    let ptx = kernels::ptx(kernel).lines().find_map(|line| line.strip_prefix(".version "));
    Error::Driver(CudaError::DriverTooOld {
        driver: format!("{}.{}", version / 1000, version % 1000 / 10),
        ptx: ptx.unwrap_or("of no version").to_owned(),
        kernel,
    })
}
