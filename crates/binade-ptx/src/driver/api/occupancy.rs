//! Functions that compute occupancy.

use std::ffi::{c_int, c_uint};

use super::{abi::Out, call::api};
use crate::driver::{
    code::{Code, Result},
    state::{Driver, Handle, while_in_host_function},
};

/// C type `CUoccupancyB2DSize`: dynamic shared memory by block size.
type BySize = Option<extern "C" fn(c_int) -> usize>;

#[expect(clippy::cast_possible_wrap, reason = "few blocks, and at most 1024 threads")]
fn best(
    driver: &Driver,
    (grid, block): (Out<c_int>, Out<c_int>),
    function: Handle,
    by_size: BySize,
    (shared, most): (usize, c_int),
) -> Result {
    let most = u32::try_from(most).map_err(|_| Code::InvalidValue)?;
    let wanted = |threads: u32| match by_size {
        Some(by_size) => while_in_host_function(|| by_size(threads as c_int)),
        None => shared,
    };
    let (blocks, threads) = driver.best_block(function, wanted, most)?;
    grid.set(blocks as c_int)?;
    block.set(threads as c_int)
}

#[expect(clippy::cast_possible_wrap, reason = "a few blocks")]
fn fit(
    driver: &Driver,
    blocks: Out<c_int>,
    function: Handle,
    threads: c_int,
    shared: usize,
) -> Result {
    let threads = u32::try_from(threads).map_err(|_| Code::InvalidValue)?;
    blocks.set(driver.blocks_that_fit(function, threads, shared)? as c_int)
}

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        driver,
        blocks: Out<c_int>,
        function: Handle,
        threads: c_int,
        shared: usize,
    ) {
        fit(driver, blocks, function, threads, shared)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        driver,
        blocks: Out<c_int>,
        function: Handle,
        threads: c_int,
        shared: usize,
        _flags: c_uint,
    ) {
        fit(driver, blocks, function, threads, shared)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        driver,
        grid: Out<c_int>,
        block: Out<c_int>,
        function: Handle,
        by_size: BySize,
        shared: usize,
        most: c_int,
    ) {
        best(driver, (grid, block), function, by_size, (shared, most))
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        driver,
        grid: Out<c_int>,
        block: Out<c_int>,
        function: Handle,
        by_size: BySize,
        shared: usize,
        most: c_int,
        _flags: c_uint,
    ) {
        best(driver, (grid, block), function, by_size, (shared, most))
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        driver,
        bytes: Out<usize>,
        function: Handle,
        blocks: c_int,
        _threads: c_int,
    ) {
        let blocks = u32::try_from(blocks).map_err(|_| Code::InvalidValue)?;
        bytes.set(driver.shared_left(function, blocks)?)
    }
}
