//! Page-locked host memory.

use super::Driver;
use crate::driver::code::{Code, Result};

/// Page of host memory; memory made of pages begins on a page.
#[derive(Clone, Debug)]
#[repr(align(4096))]
pub(crate) struct Page(
    #[expect(dead_code, reason = "callers read and write it by address")] [u8; 4096],
);

impl Driver {
    /// Allocates host memory, full of 0xff as device memory is.
    pub(crate) fn allocate_host(&mut self, bytes: usize) -> Result<*mut u8> {
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
        self.pinned.insert(first.addr(), pages);
        Ok(first)
    }

    pub(crate) fn free_host(&mut self, address: usize) -> Result {
        self.context()?;
        self.refuse_while_capturing()?;
        self.pinned.remove(&address).map(|_| ()).ok_or(Code::InvalidValue)
    }
}
