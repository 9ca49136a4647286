//! cuBLASLt: descriptors by handle, the algorithm for a problem, and the product as work of a stream.
//!
//! This stand-in is stricter than NVIDIA's library. It refuses, with a line on standard error: sums in sixteen bits, reads beyond
//! an allocation, addresses aligned less than was said, and an algorithm used for another problem than its own.

mod attributes;
mod problem;
mod product;
mod status;

use super::{Driver, Handle, table::Table};
pub(crate) use attributes::{Desc, Layout, Preference};
pub(crate) use problem::{Algorithm, Descriptors};
pub(crate) use product::{Call, Product};
pub(crate) use status::{Result, Status};
pub(crate) use {
    attributes::{Kind, Reads},
    product::{encode, overlap},
};

/// Objects of the library by handle.
#[derive(Debug)]
pub(crate) struct Lt {
    pub(crate) handles: Table<()>,
    pub(crate) layouts: Table<Layout>,
    pub(crate) descs: Table<Desc>,
    pub(crate) preferences: Table<Preference>,
}

impl Default for Lt {
    fn default() -> Self {
        Self {
            handles: Table::new(10),
            layouts: Table::new(11),
            descs: Table::new(12),
            preferences: Table::new(13),
        }
    }
}

impl Driver {
    /// Creates a handle. It takes device memory, which a capturing thread may not.
    pub(crate) fn lt_create(&mut self) -> Result<Handle> {
        self.context().map_err(|_| Status::NotInitialized)?;
        self.refuse_while_capturing().map_err(|_| Status::AllocFailed)?;
        Ok(self.lt.handles.insert(()))
    }
}
