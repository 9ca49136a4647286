//! Number of blocks that fit on a multiprocessor, by threads and shared memory. Registers are not allotted here.

use super::{Driver, Handle};
use crate::driver::code::{Code, Result};

impl Driver {
    pub(crate) fn blocks_that_fit(
        &self,
        function: Handle,
        threads: i32,
        dynamic_shared: usize,
    ) -> Result<i32> {
        let threads = u32::try_from(threads).ok().filter(|threads| (1..=1024).contains(threads));
        let threads = threads.ok_or(Code::InvalidValue)?;
        let limits = self.limits();
        let shared = self.function(function)?.static_shared()?;
        let shared =
            u32::try_from(dynamic_shared).map_or(u32::MAX, |more| shared.saturating_add(more));
        let by_threads = limits.threads / threads.next_multiple_of(32);
        let by_shared = limits.shared.checked_div(shared).unwrap_or(limits.blocks);
        Ok(by_threads.min(by_shared).min(limits.blocks).cast_signed())
    }
}
