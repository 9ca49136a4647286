//! Reports of faulty kernels: the fault's kind, line, block and thread.

use std::fmt;

use crate::Dim3;

/// Reason why a device refused or failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Call that is wrong in itself; nothing ran or changed.
    #[error("{0}")]
    Call(String),
    /// Kernel that ran up to its first fault.
    #[error(transparent)]
    Kernel(#[from] Box<Report>),
}

/// First fault of a launch, with its place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}{} in `{kernel}`, PTX line {line}{}, block {block}, thread {thread}",
    at(*.address), from_source(.origin.as_deref()))]
pub struct Report {
    /// Kind of fault.
    pub kind: ReportKind,
    /// Name of the entry.
    pub kernel: String,
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// `file:line` of the source, if the PTX has `.loc`.
    pub origin: Option<String>,
    /// Block of the thread.
    pub block: Dim3,
    /// Thread at fault; of several the lowest.
    pub thread: Dim3,
    /// Address of the access, if one is concerned: a device address, or an offset into the block's shared memory.
    pub address: Option<u64>,
}

fn at(address: Option<u64>) -> String {
    address.map_or_else(String::new, |address| format!(" at {address:#x}"))
}

fn from_source(source: Option<&str>) -> String {
    source.map_or_else(String::new, |source| format!(" ({source})"))
}

/// Kind of fault.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReportKind {
    /// Access that no allocation holds whole.
    #[error("out-of-bounds {bytes}-byte {access} of {space} memory")]
    OutOfBounds {
        /// Kind of access.
        access: Access,
        /// State space of the address.
        space: Space,
        /// Width of the access.
        bytes: u64,
    },
    /// Address that is not a multiple of the access's width.
    #[error("misaligned {bytes}-byte {access} of {space} memory")]
    Misaligned {
        /// Kind of access.
        access: Access,
        /// State space of the address.
        space: Space,
        /// Width of the access.
        bytes: u64,
    },
    /// Read of unwritten memory; shared memory counts as unwritten if no thread of this block wrote it.
    #[error("read of {bytes} bytes of uninitialised {space} memory")]
    Uninitialised {
        /// State space of the address.
        space: Space,
        /// Width of the read.
        bytes: u64,
    },
    /// Accesses of two threads, at least one of them a write, with no barrier between.
    #[error(
        "shared-memory race: {access} after a {other_access} of thread {other} at PTX line {other_line}, no barrier between"
    )]
    SharedRace {
        /// Access of the later thread.
        access: Access,
        /// Earlier thread.
        other: Dim3,
        /// Access of the earlier thread.
        other_access: Access,
        /// PTX line of the earlier access.
        other_line: u32,
    },
    /// Access to bytes that a pending `cp.async` will write.
    #[error(
        "{access} of shared memory that the cp.async at PTX line {issued} has not been waited for"
    )]
    UnfinishedCopy {
        /// Kind of access.
        access: Access,
        /// PTX line of the copy.
        issued: u32,
    },
    /// Barrier at which one thread of the block waits and which another never reaches.
    #[error("divergent barrier: thread {missing} does not come")]
    DivergentBarrier {
        /// Lowest thread that does not come.
        missing: Dim3,
    },
    /// Instruction of several lanes together that some of them do not execute: its mask, or a shuffle's source, names a lane that does not
    /// participate.
    #[error("divergent `{form}`: lane {lane} does not take part")]
    Divergent {
        /// Opcode with all suffixes.
        form: &'static str,
        /// Lowest such lane, from 0 to 31.
        lane: u32,
    },
    /// `trap` instruction, by which a kernel ends itself.
    #[error("trap")]
    Trap,
    /// More instructions than the launch's limit.
    #[error("{limit} instructions and no end")]
    StepLimit {
        /// Limit in warp instructions, summed over all warps.
        limit: u64,
    },
}

/// Kind of a thread's access to memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Read and write in one.
    Atomic,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic operation",
        })
    }
}

/// State space of a PTX address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Space {
    /// Memory of the device.
    Global,
    /// Shared memory of the block.
    Shared,
    /// Parameters of the kernel.
    Param,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Param => "parameter",
        })
    }
}
