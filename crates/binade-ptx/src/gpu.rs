//! Simulated device: memory, launches and their line coverage.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use crate::{
    Arg, Capability, Coverage, Dim3, Fault, Module,
    exec::{self, Launch, MmaSums, Spare},
    launch::{check_dimensions, parameters},
    memory::{Allocation, Devices, Global},
    module::Entry,
    report::Access,
};

/// Shared memory in bytes that a block may have without opting in to more.
const MOST_SHARED: u64 = 48 << 10;

/// Limit of warp instructions a launch unless set otherwise. This number takes minutes here, and an instant on a GPU.
const STEP_LIMIT: u64 = 1 << 30;

/// Launch that is checked, without its arguments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) module: &'a Module,
    pub(crate) entry: &'a Entry,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    /// Dynamic shared memory in bytes, behind the entry's static shared memory.
    pub(crate) shared_bytes: u64,
    /// Limit in bytes of static and dynamic shared memory together.
    pub(crate) most_shared: u64,
}

/// Device without a GPU. Launches run at once, on the calling thread, one block after another.
#[derive(Debug)]
pub struct Gpu {
    capability: Capability,
    memory: Global,
    spare: Spare,
    /// Limit of warp instructions of each later launch, summed over all warps.
    pub step_limit: u64,
    pub(crate) sums: MmaSums,
    /// Instructions that ran, by module id and entry name.
    ran: BTreeMap<(u64, String), Vec<bool>>,
}

impl Gpu {
    /// Creates a device that runs modules built for `capability` and below.
    pub fn new(capability: Capability) -> Self {
        Self {
            capability,
            memory: Global::default(),
            spare: Spare::new(),
            step_limit: STEP_LIMIT,
            sums: MmaSums::Exact,
            ran: BTreeMap::new(),
        }
    }

    /// Allocates memory and returns its address, a multiple of 256. It is filled with 0xff, NaN in every float type, and a kernel that reads
    /// unwritten memory is stopped.
    pub fn alloc(&mut self, bytes: usize) -> u64 {
        self.alloc_on(0, bytes)
    }

    pub(crate) fn alloc_on(&mut self, device: usize, bytes: usize) -> u64 {
        self.memory.alloc(device, bytes)
    }

    /// Sets the devices whose memory later launches may touch.
    pub(crate) fn show(&mut self, devices: Devices) {
        self.memory.show(devices);
    }

    /// Frees an allocation. Its addresses are never reused.
    ///
    /// # Errors
    /// [`Fault::Call`] if `address` is not the start of an allocation.
    pub fn free(&mut self, address: u64) -> Result<(), Fault> {
        if self.memory.free(address) { Ok(()) } else { Err(unheld(address, 0)) }
    }

    /// Copies bytes from the host to the device.
    ///
    /// # Errors
    /// [`Fault::Call`] if no allocation holds all of it; nothing is written then.
    pub fn write(&mut self, to: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.access(to, bytes.len(), Access::Write)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Returns a copy of device memory, including unwritten bytes.
    ///
    /// # Errors
    /// [`Fault::Call`] if no allocation holds all of it.
    pub fn read(&mut self, from: u64, bytes: usize) -> Result<Vec<u8>, Fault> {
        let (allocation, place) = self.holder(from, bytes)?;
        Ok(allocation.bytes()[place].to_vec())
    }

    /// Copies bytes within device memory. An unwritten byte stays unwritten in the copy.
    ///
    /// # Errors
    /// [`Fault::Call`] if no allocation holds all of what is read, or of what is written.
    pub(crate) fn copy(&mut self, to: u64, from: u64, bytes: usize) -> Result<(), Fault> {
        let (allocation, place) = self.holder(from, bytes)?;
        let values = allocation.bytes()[place.clone()].to_vec();
        let marks = allocation.marks(place);
        let (allocation, place) = self.holder(to, bytes)?;
        allocation.take(place, &values, &marks);
        Ok(())
    }

    /// Returns the bytes that the host reads or writes, in place.
    ///
    /// # Errors
    /// [`Fault::Call`] if no allocation holds all of them, or nobody wrote one that is read.
    pub(crate) fn access(
        &mut self,
        at: u64,
        bytes: usize,
        access: Access,
    ) -> Result<&mut [u8], Fault> {
        let (allocation, place) = self.holder(at, bytes)?;
        let unwritten =
            || Fault::Call(format!("of {bytes} bytes at {at:#x} some were never written"));
        allocation.access(place, access).ok_or_else(unwritten)
    }

    fn holder(&mut self, at: u64, bytes: usize) -> Result<(&mut Allocation, Range<usize>), Fault> {
        self.memory.holder(at, bytes).ok_or_else(|| unheld(at, bytes))
    }

    /// Runs `entry` to its end, with `shared_bytes` of dynamic shared memory a block behind the entry's static shared memory.
    ///
    /// # Errors
    /// [`Fault::Call`] if nothing ran, [`Fault::Kernel`] with the first fault of a thread; memory then holds all writes up to that fault.
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

    /// Runs a checked job with its block of parameters, and adds the lines that ran to the coverage.
    pub(crate) fn run(&mut self, job: &Job<'_>, params: Vec<u8>) -> Result<(), Fault> {
        let Job { module, entry, grid, block, .. } = *job;
        let shared_bytes = entry.shared_bytes + job.shared_bytes;
        let (limit, sums) = (self.step_limit, self.sums);
        let launch = Launch { module, entry, grid, block, shared_bytes, params, limit, sums };
        let ran = self.ran.entry((module.id, entry.name.clone()));
        let ran = ran.or_insert_with(|| vec![false; entry.code.len()]);
        Ok(exec::run(&launch, &mut self.memory, &mut self.spare, ran).map_err(Box::new)?)
    }

    pub(crate) fn check(&self, job: &Job<'_>) -> Result<(), Fault> {
        let (target, device) = (job.module.target, self.capability);
        if target > device {
            return Err(Fault::Call(format!("the module is for {target}, the device is {device}")));
        }
        let bytes = job.entry.shared_bytes.saturating_add(job.shared_bytes);
        if bytes > job.most_shared {
            let most = job.most_shared;
            return Err(Fault::Call(format!(
                "{bytes} bytes of shared memory a block, at most {most}"
            )));
        }
        check_dimensions(job.grid, job.block)
    }

    /// Returns the line coverage of an entry by all launches on this device so far.
    ///
    /// # Errors
    /// [`Fault::Call`] if the module has no such entry.
    pub fn coverage(&self, module: &Module, entry: &str) -> Result<Coverage, Fault> {
        let kernel = find(module, entry)?;
        let ran = self.ran.get(&(module.id, entry.to_owned()));
        let lines: BTreeSet<u32> = kernel.code.iter().map(|code| code.line).collect();
        let marked = kernel.code.iter().zip(ran.into_iter().flatten());
        let ran: BTreeSet<u32> =
            marked.filter(|(_, ran)| **ran).map(|(code, _)| code.line).collect();
        let missed = lines.difference(&ran).copied().collect();
        Ok(Coverage { lines: lines.len(), missed })
    }
}

fn unheld(address: u64, bytes: usize) -> Fault {
    Fault::Call(format!("{bytes} bytes at {address:#x} are in no allocation"))
}

pub(crate) fn find<'a>(module: &'a Module, name: &str) -> Result<&'a Entry, Fault> {
    module.entry(name).ok_or_else(|| {
        let names: Vec<_> = module.entries().collect();
        Fault::Call(format!("the module has no entry `{name}`; it has {}", names.join(", ")))
    })
}
