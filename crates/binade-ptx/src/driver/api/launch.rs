//! Functions that launch kernels.

use std::ffi::c_uint;

use super::{
    abi::{Arguments, In},
    call::api,
};
use crate::driver::{
    code::{Code, Result},
    state::{Driver, Handle, Shape},
};

/// Launches a kernel. Arguments packed into one buffer (`extra`) are not supported; no caller in Rust passes them.
fn launch(
    driver: &mut Driver,
    function: Handle,
    shape: Shape,
    stream: Handle,
    arguments: Arguments,
    extra: In<u64>,
) -> Result {
    if extra.given() {
        return Err(Code::NotSupported);
    }
    let params = arguments.block(&driver.parameters(function)?)?;
    driver.launch(function, shape, params, stream)
}

api! {
    fn cuLaunchKernel(
        driver,
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared_bytes: c_uint,
        stream: Handle,
        arguments: Arguments,
        extra: In<u64>,
    ) {
        let grid = [grid_x, grid_y, grid_z].into();
        let block = [block_x, block_y, block_z].into();
        let shape = Shape { grid, block, shared_bytes };
        launch(driver, function, shape, stream, arguments, extra)
    }
}
