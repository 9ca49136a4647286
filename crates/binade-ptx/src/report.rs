//! What a kernel did wrong, and where.

use std::fmt;

use binade_core::ErrorKind;

use crate::{Dim3, LaunchError};

/// A launch that did not end well.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// Nothing ran: the launch itself is wrong.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel ran and did what it must not.
    #[error(transparent)]
    Kernel(#[from] Box<Report>),
}

impl Fault {
    /// What the kernel did, if it ran.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Kernel(report) => Some(report),
            Self::Launch(_) => None,
        }
    }
}

impl binade_core::Error for Fault {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Launch(error) => error.kind(),
            Self::Kernel(_) => ErrorKind::Other,
        }
    }
}

/// The first thing that went wrong in a launch.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{kind}{} in `{kernel}`, PTX line {line}{}, block {block}, thread {thread}",
    at(*.address), from_source(.origin.as_deref()))]
pub struct Report {
    /// What it was.
    pub kind: ReportKind,
    /// The entry's name.
    pub kernel: String,
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// `file:line` of the source, where the PTX says.
    pub origin: Option<String>,
    /// The block of the thread.
    pub block: Dim3,
    /// The thread that did it; the lowest one, where several did.
    pub thread: Dim3,
    /// The address, where one is concerned: a device address, or an offset into the block's shared memory.
    pub address: Option<u64>,
}

fn at(address: Option<u64>) -> String {
    address.map_or_else(String::new, |address| format!(" at {address:#x}"))
}

fn from_source(source: Option<&str>) -> String {
    source.map_or_else(String::new, |source| format!(" ({source})"))
}

/// Kinds of wrong.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ReportKind {
    /// An access that no allocation holds whole.
    #[error("out-of-bounds {bytes}-byte {access} of {space} memory")]
    OutOfBounds {
        /// What the thread did.
        access: Access,
        /// Where.
        space: Space,
        /// How wide.
        bytes: u64,
    },
    /// An address that is not a multiple of the access's width.
    #[error("misaligned {bytes}-byte {access} of {space} memory")]
    Misaligned {
        /// What the thread did.
        access: Access,
        /// Where.
        space: Space,
        /// How wide.
        bytes: u64,
    },
    /// A read of shared memory that nobody wrote in this block.
    #[error("read of {bytes} bytes of uninitialised shared memory")]
    UninitialisedShared {
        /// How wide.
        bytes: u64,
    },
    /// Two threads, at least one of them writing, with no barrier between.
    #[error("shared-memory race: {access} of what thread {other} {} at PTX line {other_line}, no barrier between",
        past(*.other_access))]
    SharedRace {
        /// What the later thread did.
        access: Access,
        /// The earlier thread.
        other: Dim3,
        /// What it did.
        other_access: Access,
        /// Where it did it.
        other_line: u32,
    },
    /// An access to bytes that a `cp.async` is still on its way to.
    #[error(
        "{access} of shared memory that the cp.async at PTX line {issued} has not been waited for"
    )]
    UnfinishedCopy {
        /// What the thread did.
        access: Access,
        /// The line of the copy.
        issued: u32,
    },
    /// A barrier that one thread of the block waits at and another never reaches.
    #[error("divergent barrier: thread {missing} does not come")]
    DivergentBarrier {
        /// The lowest thread that does not come.
        missing: Dim3,
    },
    /// A shuffle whose mask, or whose source, names a lane that does not take part.
    #[error("divergent shuffle: lane {lane} does not take part")]
    DivergentShuffle {
        /// The lowest such lane, from 0 to 31.
        lane: u32,
    },
    /// A vote or a reduction of a warp whose mask names a lane that does not take part.
    #[error("divergent vote: lane {lane} does not take part")]
    DivergentVote {
        /// The lowest such lane, from 0 to 31.
        lane: u32,
    },
    /// A product or a load of matrices that not the whole warp comes to.
    #[error("divergent matrix instruction: lane {lane} does not take part")]
    DivergentMatrix {
        /// The lowest such lane, from 0 to 31.
        lane: u32,
    },
    /// A barrier of a warp whose mask names a lane that does not come.
    #[error("divergent warp barrier: lane {lane} does not come")]
    DivergentWarpBarrier {
        /// The lowest such lane, from 0 to 31.
        lane: u32,
    },
    /// The kernel gave up by itself.
    #[error("trap")]
    Trap,
    /// More instructions than the launch may take.
    #[error("{limit} instructions and no end")]
    StepLimit {
        /// The limit, in instructions of a warp.
        limit: u64,
    },
}

/// What a thread did to memory.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// Read it.
    Read,
    /// Wrote it.
    Write,
    /// Read and wrote it in one.
    Atomic,
}

fn past(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "wrote",
        Access::Atomic => "changed",
    }
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

/// State spaces of PTX that can be addressed wrongly.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Space {
    /// The device's memory.
    Global,
    /// The block's.
    Shared,
    /// The kernel's parameters.
    Param,
    /// The module's constants.
    Constant,
    /// What the address says: shared memory from a window on, global memory elsewhere.
    Generic,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Param => "parameter",
            Self::Constant => "constant",
            Self::Generic => "generic",
        })
    }
}
