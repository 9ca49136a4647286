//! What the driver knows of itself and of the kernels once it has compiled them.

use crate::{
    Cuda, Error,
    kernels::{self, Kernel, THREADS},
    launch::{self, Entry},
    ops,
};
use cudarc::driver::{DriverError, sys::CUdevice_attribute as Attribute};

/// What the driver made of one kernel on this device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelFacts {
    /// The entry.
    pub name: &'static str,
    /// Registers of a thread.
    pub registers: i32,
    /// Bytes of a thread that lie in device memory: arrays, and what registers do not suffice for.
    pub local_bytes: i32,
    /// Bytes of shared memory of a block, with what a launch asks for.
    pub shared_bytes: i32,
    /// Threads of the blocks that `occupancy` is of.
    pub threads: u32,
    /// Threads that a multiprocessor holds at once, as a share of those it has room for.
    pub occupancy: f64,
}

impl Cuda {
    /// What the driver made of each kernel that this GPU runs. Loads them all.
    ///
    /// # Errors
    ///
    /// When the driver does not take a kernel, or the device fails.
    pub fn kernels(&self) -> Result<Vec<KernelFacts>, Error> {
        let room = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?;
        let runs = |kernel: &&Kernel| kernel.least() <= self.inner.capability;
        kernels::all().filter(runs).map(|kernel| self.kernel_facts(kernel, room)).collect()
    }

    fn kernel_facts(&self, kernel: &'static Kernel, room: i32) -> Result<KernelFacts, Error> {
        let entry = self.entry(kernel)?;
        self.check("look at a kernel", facts(kernel, &entry, room))
    }

    /// The newest CUDA that the driver knows, such as `13.0`.
    ///
    /// # Errors
    ///
    /// When the driver does not say.
    pub fn driver_version(&self) -> Result<String, Error> {
        let version = self.check("version", launch::driver_version())?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    /// A number that the driver gives for the device.
    ///
    /// # Errors
    ///
    /// When the driver does not say.
    pub fn attribute(&self, attribute: Attribute) -> Result<i32, Error> {
        self.check("look at the device", self.stream().context().attribute(attribute))
    }
}

fn facts(kernel: &'static Kernel, entry: &Entry, room: i32) -> Result<KernelFacts, DriverError> {
    let (function, asked_for) = (entry.function(), ops::shared(kernel));
    let most = u32::try_from(function.max_threads_per_block()?).unwrap_or(THREADS);
    let threads = most.min(THREADS);
    let blocks = entry.blocks(threads, asked_for)?;
    Ok(KernelFacts {
        name: kernel.name,
        registers: function.num_regs()?,
        local_bytes: function.local_size_bytes()?,
        shared_bytes: function.shared_size_bytes()?.saturating_add_unsigned(asked_for),
        threads,
        occupancy: f64::from(blocks * threads) / f64::from(room.max(1)),
    })
}
