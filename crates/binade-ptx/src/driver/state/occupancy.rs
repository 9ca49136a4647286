//! Number of blocks that fit on a multiprocessor, by threads and shared memory. Registers are not allotted here.

use super::{Driver, Handle, device::MULTIPROCESSORS};
use crate::driver::code::{Code, Result};

impl Driver {
    pub(in crate::driver) fn blocks_that_fit(
        &self,
        function: Handle,
        threads: u32,
        dynamic_shared: usize,
    ) -> Result<u32> {
        if !(1..=1024).contains(&threads) {
            return Err(Code::InvalidValue);
        }
        let limits = self.limits();
        let shared = self.function(function)?.static_shared()?;
        let shared =
            u32::try_from(dynamic_shared).map_or(u32::MAX, |more| shared.saturating_add(more));
        let by_threads = limits.threads / threads.next_multiple_of(32);
        let by_shared = limits.shared.checked_div(shared).unwrap_or(limits.blocks);
        Ok(by_threads.min(by_shared).min(limits.blocks))
    }

    /// Returns the blocks that fill the device, and the threads of each, at most `most` (0: no such limit). `dynamic_shared`
    /// gives the dynamic shared memory of a block by its threads.
    pub(in crate::driver) fn best_block(
        &self,
        function: Handle,
        dynamic_shared: impl Fn(u32) -> usize,
        most: u32,
    ) -> Result<(u32, u32)> {
        let most = if most == 0 { 1024 } else { most.min(1024) };
        let mut best = (0, 0);
        // The largest comes first: of equals it stays.
        for warps in (1..=most.div_ceil(32)).rev() {
            let threads = (warps * 32).min(most);
            let blocks = self.blocks_that_fit(function, threads, dynamic_shared(threads))?;
            if blocks * threads > best.0 * best.1 {
                best = (blocks, threads);
            }
        }
        Ok((best.0 * MULTIPROCESSORS, best.1))
    }

    /// Returns the dynamic shared memory left to each of `blocks` on a multiprocessor.
    pub(in crate::driver) fn shared_left(&self, function: Handle, blocks: u32) -> Result<usize> {
        let limits = self.limits();
        let taken = self.function(function)?.static_shared()?;
        let each = limits.shared.checked_div(blocks).ok_or(Code::InvalidValue)?;
        Ok(each.min(limits.most_shared).saturating_sub(taken) as usize)
    }
}
