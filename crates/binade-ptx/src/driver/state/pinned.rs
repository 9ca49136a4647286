//! Page-locked host memory: allocated by the driver, or registered by a caller.

use std::collections::BTreeMap;

use super::Driver;
use crate::driver::code::{Code, Result};

/// Page of host memory; memory made of pages begins on a page.
#[derive(Clone, Debug)]
#[repr(align(4096))]
struct Page(#[expect(dead_code, reason = "callers read and write it by address")] [u8; 4096]);

/// Pinned memory by address. Pages are kept in vectors, which stay in place when the table grows.
#[derive(Debug, Default)]
pub(super) struct Pinned {
    made: BTreeMap<usize, Vec<Page>>,
    registered: BTreeMap<usize, usize>,
}

impl Driver {
    /// Allocates host memory, full of 0xff as device memory is.
    pub(in crate::driver) fn allocate_host(&mut self, bytes: usize) -> Result<*mut u8> {
        self.context()?;
        self.refuse_while_capturing()?;
        if bytes == 0 {
            return Err(Code::InvalidValue);
        }
        let mut pages = Vec::new();
        let count = bytes.div_ceil(4096);
        pages.try_reserve_exact(count).map_err(|_| Code::OutOfMemory)?;
        pages.resize(count, Page([0xff; 4096]));
        let first = pages.as_mut_ptr().cast::<u8>();
        self.pinned.made.insert(first.addr(), pages);
        Ok(first)
    }

    pub(in crate::driver) fn free_host(&mut self, address: usize) -> Result {
        self.context()?;
        self.refuse_while_capturing()?;
        self.pinned.made.remove(&address).map(|_| ()).ok_or(Code::InvalidValue)
    }

    pub(in crate::driver) fn register_host(&mut self, address: usize, bytes: usize) -> Result {
        self.context()?;
        self.refuse_while_capturing()?;
        let end = address.checked_add(bytes).filter(|end| *end > address && address > 0);
        let end = end.ok_or(Code::InvalidValue)?;
        let before = self.pinned.registered.range(..end).next_back();
        if before.is_some_and(|(first, length)| first + length > address) {
            return Err(Code::HostMemoryAlreadyRegistered);
        }
        self.pinned.registered.insert(address, bytes);
        Ok(())
    }

    pub(in crate::driver) fn unregister_host(&mut self, address: usize) -> Result {
        self.context()?;
        let removed = self.pinned.registered.remove(&address);
        removed.map(|_| ()).ok_or(Code::HostMemoryNotRegistered)
    }
}
