//! cuBLASLt: descriptors by handle, the algorithm for a problem, and the product as work of a stream.
//!
//! This stand-in is stricter than NVIDIA's library. It refuses, with a line on standard error: sums in sixteen bits, reads beyond an allocation,
//! addresses aligned less than declared, and an algorithm used for a different problem.

mod attributes;
mod problem;
mod product;

use super::{Driver, Handle, table::Table};
use crate::driver::code::Code;
pub(crate) use attributes::{Desc, Layout, Preference};
pub(crate) use problem::{Algorithm, Descriptors};
pub(crate) use product::{Call, Product};
pub(crate) use {
    attributes::{Kind, Reads},
    product::{encode, overlap},
};

/// Objects of the library by handle.
#[derive(Debug, Default)]
pub(crate) struct Lt {
    pub(crate) handles: Table<(), 10>,
    pub(crate) layouts: Table<Layout, 11>,
    pub(crate) descs: Table<Desc, 12>,
    pub(crate) preferences: Table<Preference, 13>,
}

impl Driver {
    /// Creates a handle. It allocates device memory, which a capturing thread must not.
    pub(crate) fn lt_create(&mut self) -> Result<Handle> {
        self.context().map_err(|_| Status::NotInitialized)?;
        self.refuse_while_capturing().map_err(|_| Status::AllocFailed)?;
        Ok(self.lt.handles.insert(()))
    }
}

/// Status codes of cuBLASLt's functions: `cublasStatus_t`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(i32)]
pub(crate) enum Status {
    NotInitialized = 1,
    AllocFailed = 3,
    InvalidValue = 7,
    ExecutionFailed = 13,
    InternalError = 14,
    NotSupported = 15,
}

pub(crate) type Result<T = ()> = std::result::Result<T, Status>;

/// Maps a handle that no table has, or an unexpected null, to `InvalidValue`.
impl From<Code> for Status {
    fn from(_: Code) -> Self {
        Self::InvalidValue
    }
}
