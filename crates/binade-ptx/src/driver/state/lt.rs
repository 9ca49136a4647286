//! cuBLASLt: descriptors by handle, the algorithm for a problem, and the product as work of a stream.
//!
//! This stand-in is stricter than NVIDIA's library. It refuses, with a line on standard error: sums in sixteen bits, reads beyond
//! an allocation, addresses aligned less than was said, and an algorithm used for another problem than its own.

mod attributes;
mod problem;
mod product;
mod status;

use super::{Driver, Handle, table::Table};
pub(in crate::driver) use attributes::{Desc, Layout, Preference};
pub(in crate::driver) use problem::{Algorithm, Descriptors};
pub(in crate::driver) use product::{Call, Product};
pub(in crate::driver) use status::{Result, Status};
pub(super) use {
    attributes::{Kind, Reads},
    product::encode,
};

/// Objects of the library by handle.
#[derive(Debug)]
pub(super) struct Lt {
    handles: Table<()>,
    layouts: Table<Layout>,
    descs: Table<Desc>,
    preferences: Table<Preference>,
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
    pub(in crate::driver) fn lt_create(&mut self) -> Result<Handle> {
        self.context().map_err(|_| Status::NotInitialized)?;
        self.refuse_while_capturing().map_err(|_| Status::AllocFailed)?;
        Ok(self.lt.handles.insert(()))
    }

    pub(in crate::driver) fn lt_destroy(&mut self, handle: Handle) -> Result {
        Ok(self.lt.handles.remove(handle)?)
    }

    pub(in crate::driver) fn lt_create_layout(&mut self, layout: Layout) -> Handle {
        self.lt.layouts.insert(layout)
    }

    pub(in crate::driver) fn lt_layout(&mut self, layout: Handle) -> Result<&mut Layout> {
        Ok(self.lt.layouts.get_mut(layout)?)
    }

    pub(in crate::driver) fn lt_destroy_layout(&mut self, layout: Handle) -> Result {
        self.lt.layouts.remove(layout)?;
        Ok(())
    }

    pub(in crate::driver) fn lt_create_desc(&mut self, desc: Desc) -> Handle {
        self.lt.descs.insert(desc)
    }

    pub(in crate::driver) fn lt_desc(&mut self, desc: Handle) -> Result<&mut Desc> {
        Ok(self.lt.descs.get_mut(desc)?)
    }

    pub(in crate::driver) fn lt_destroy_desc(&mut self, desc: Handle) -> Result {
        self.lt.descs.remove(desc)?;
        Ok(())
    }

    pub(in crate::driver) fn lt_create_preference(&mut self) -> Handle {
        self.lt.preferences.insert(Preference::default())
    }

    pub(in crate::driver) fn lt_preference(&mut self, of: Handle) -> Result<&mut Preference> {
        Ok(self.lt.preferences.get_mut(of)?)
    }

    pub(in crate::driver) fn lt_destroy_preference(&mut self, preference: Handle) -> Result {
        self.lt.preferences.remove(preference)?;
        Ok(())
    }
}
