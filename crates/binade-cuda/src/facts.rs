//! Facts that the driver states about itself and about the kernels that it has compiled.

use crate::{
    Cuda, Error,
    kernels::{self, THREADS},
    launch::{self, Entry},
};
use cudarc::driver::{DriverError, sys::CUdevice_attribute as Attribute};

/// Compilation of one kernel on this device, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelFacts {
    /// Name of the entry.
    pub name: &'static str,
    /// Registers per thread.
    pub registers: i32,
    /// Bytes of device memory per thread: arrays, and registers that were spilled.
    pub local_bytes: i32,
    /// Bytes of shared memory per block, including dynamic shared memory of a launch.
    pub shared_bytes: i32,
    /// Threads per block that `occupancy` is computed for.
    pub threads: u32,
    /// Threads resident on a multiprocessor, as a fraction of its maximum.
    pub occupancy: f64,
}

impl Cuda {
    /// Returns the facts of each kernel that this GPU runs. Loads them all.
    ///
    /// # Errors
    ///
    /// If the driver rejects a kernel, or the device fails.
    pub fn kernels(&self) -> Result<Vec<KernelFacts>, Error> {
        let room = Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
        let room = self.check("look at the device", self.stream().context().attribute(room))?;
        let runs = |kernel: &&'static str| kernels::least(kernel) <= self.inner.capability;
        kernels::all().filter(runs).map(|kernel| self.kernel_facts(kernel, room)).collect()
    }

    fn kernel_facts(&self, kernel: &'static str, room: i32) -> Result<KernelFacts, Error> {
        let entry = self.entry(kernel)?;
        self.check("look at a kernel", facts(kernel, &entry, room))
    }

    /// Returns the newest CUDA that the driver knows, such as `13.0`.
    ///
    /// # Errors
    ///
    /// If the driver does not say.
    pub fn driver_version(&self) -> Result<String, Error> {
        let version = self.check("version", launch::driver_version())?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }
}

fn facts(kernel: &'static str, entry: &Entry, room: i32) -> Result<KernelFacts, DriverError> {
    let (function, asked_for) = (&entry.function, entry.shared);
    let most = u32::try_from(function.max_threads_per_block()?).unwrap_or(THREADS);
    let threads = most.min(THREADS);
    let blocks = entry.blocks(threads)?;
    Ok(KernelFacts {
        name: kernel,
        registers: function.num_regs()?,
        local_bytes: function.local_size_bytes()?,
        shared_bytes: function.shared_size_bytes()?.saturating_add_unsigned(asked_for),
        threads,
        occupancy: f64::from(blocks * threads) / f64::from(room.max(1)),
    })
}
