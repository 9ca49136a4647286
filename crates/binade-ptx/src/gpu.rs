//! The device: memory, launches, and what they covered.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Arg, Capability, Coverage, Dim3, Fault, LaunchError, MemoryError, Module,
    exec::{self, Launch},
    launch::{check_dimensions, parameters},
    memory::{Devices, Global},
    module::Entry,
};

/// Shared memory that a block may ask for without opting in to more, in bytes.
const MOST_SHARED: u64 = 48 << 10;

/// Instructions of a warp that one launch may take, unless told otherwise: minutes of work here, an instant on a GPU.
const STEPS: u64 = 1 << 30;

/// An address in the device's memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct DevicePtr(u64);

impl DevicePtr {
    /// The address itself.
    pub fn address(self) -> u64 {
        self.0
    }

    pub(crate) fn at(address: u64) -> Self {
        Self(address)
    }

    /// The address `bytes` further on; whether memory is there shows when it is used.
    #[must_use]
    pub fn offset(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// A launch without its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) module: &'a Module,
    pub(crate) entry: &'a Entry,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    /// Behind those that the PTX declares.
    pub(crate) shared_bytes: u64,
    /// The most that both may come to.
    pub(crate) most_shared: u64,
}

/// A device without a GPU. Launches run at once, on the calling thread, one block after another.
#[derive(Debug)]
pub struct Gpu {
    capability: Capability,
    memory: Global,
    steps: u64,
    /// PTX lines that ran, by module and entry.
    ran: BTreeMap<(u64, String), BTreeSet<u32>>,
}

impl Gpu {
    /// A device that runs modules built for `capability` and below.
    pub fn new(capability: Capability) -> Self {
        Self { capability, memory: Global::default(), steps: STEPS, ran: BTreeMap::new() }
    }

    /// From here on a launch may take this many instructions of a warp, all warps together.
    pub fn limit_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// New memory, aligned to 256 bytes, full of 0xff: NaN in every float type.
    pub fn alloc(&mut self, bytes: usize) -> DevicePtr {
        let pointer = self.reserve(0, bytes);
        self.map(pointer, bytes);
        pointer
    }

    /// Addresses for an allocation of this size on one of several devices, with no memory behind them yet.
    pub(crate) fn reserve(&mut self, device: usize, bytes: usize) -> DevicePtr {
        DevicePtr(self.memory.reserve(device, bytes))
    }

    /// Whose memory launches may touch from here on.
    pub(crate) fn show(&mut self, devices: Devices) {
        self.memory.show(devices);
    }

    /// Puts new memory behind reserved addresses.
    pub(crate) fn map(&mut self, pointer: DevicePtr, bytes: usize) {
        self.memory.map(pointer.0, bytes);
    }

    /// Gives an allocation back; its addresses are never handed out again.
    ///
    /// # Errors
    /// [`MemoryError`] where `pointer` is not the start of an allocation.
    pub fn free(&mut self, pointer: DevicePtr) -> Result<(), MemoryError> {
        let error = MemoryError { address: pointer.0, bytes: 0 };
        if self.memory.free(pointer.0) { Ok(()) } else { Err(error) }
    }

    /// Host to device.
    ///
    /// # Errors
    /// [`MemoryError`] where no allocation holds all of it; nothing is written then.
    pub fn write(&mut self, to: DevicePtr, bytes: &[u8]) -> Result<(), MemoryError> {
        self.bytes(to, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }

    /// Device to host.
    ///
    /// # Errors
    /// [`MemoryError`] where no allocation holds all of it.
    pub fn read(&mut self, from: DevicePtr, bytes: usize) -> Result<Vec<u8>, MemoryError> {
        Ok(self.bytes(from, bytes)?.to_vec())
    }

    /// The bytes themselves, if one allocation holds them all.
    pub(crate) fn bytes(&mut self, at: DevicePtr, bytes: usize) -> Result<&mut [u8], MemoryError> {
        self.memory.get(at.0, bytes).ok_or(MemoryError { address: at.0, bytes })
    }

    /// Runs `entry` to its end: `shared_bytes` of shared memory a block, behind those that the PTX declares.
    ///
    /// # Errors
    /// [`Fault::Launch`] where nothing ran, [`Fault::Kernel`] with the first thing that a thread did wrong; memory then holds what
    /// had been written up to there.
    pub fn launch(
        &mut self,
        module: &Module,
        entry: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        shared_bytes: u64,
        args: &[Arg],
    ) -> Result<(), Fault> {
        let entry = find(module, entry)?;
        let (grid, block) = (grid.into(), block.into());
        let job = Job { module, entry, grid, block, shared_bytes, most_shared: MOST_SHARED };
        self.check(&job)?;
        self.run(&job, parameters(entry, args)?)
    }

    /// Runs a job that was checked, with the block of parameters as the kernel sees it.
    pub(crate) fn run(&mut self, job: &Job<'_>, params: Vec<u8>) -> Result<(), Fault> {
        let Job { module, entry, grid, block, .. } = *job;
        let shared_bytes = entry.shared_bytes + job.shared_bytes;
        let launch = Launch { module, entry, grid, block, shared_bytes, params, limit: self.steps };
        let mut ran = vec![false; entry.code.len()];
        let outcome = exec::run(&launch, &mut self.memory, &mut ran);
        self.note(module, entry, &ran);
        Ok(outcome.map_err(Box::new)?)
    }

    pub(crate) fn check(&self, job: &Job<'_>) -> Result<(), LaunchError> {
        let (target, device) = (job.module.target, self.capability);
        if target > device {
            return Err(LaunchError::TooNew { target, device });
        }
        let bytes = job.entry.shared_bytes.saturating_add(job.shared_bytes);
        if bytes > job.most_shared {
            return Err(LaunchError::SharedBytes { bytes, most: job.most_shared });
        }
        check_dimensions(job.grid, job.block)
    }

    fn note(&mut self, module: &Module, entry: &Entry, ran: &[bool]) {
        let lines = self.ran.entry((module.id, entry.name.clone())).or_default();
        lines
            .extend(entry.code.iter().zip(ran).filter(|(_, ran)| **ran).map(|(code, _)| code.line));
    }

    /// What the launches of an entry on this device have executed so far.
    ///
    /// # Errors
    /// [`LaunchError::NoEntry`].
    pub fn coverage(&self, module: &Module, entry: &str) -> Result<Coverage, LaunchError> {
        let kernel = find(module, entry)?;
        let ran = self.ran.get(&(module.id, entry.to_owned()));
        let lines: BTreeSet<u32> = kernel.code.iter().map(|code| code.line).collect();
        let is_missed = |line: &u32| !ran.is_some_and(|ran| ran.contains(line));
        let missed = lines.iter().copied().filter(is_missed).collect();
        Ok(Coverage { entry: entry.to_owned(), lines: lines.len(), missed })
    }
}

fn find<'a>(module: &'a Module, name: &str) -> Result<&'a Entry, LaunchError> {
    let none = || LaunchError::NoEntry {
        name: name.to_owned(),
        has: module.entries().map(str::to_owned).collect(),
    };
    module.entry(name).ok_or_else(none)
}
