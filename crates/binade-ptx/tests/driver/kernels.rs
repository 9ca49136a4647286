//! Launches of the fixtures' kernels, as a user of cudarc makes them.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;

use super::process::alone;

pub(crate) const SCALE: &str = include_str!("../fixtures/scale.ptx");

pub(crate) fn function(context: &Arc<CudaContext>, text: &str, entry: &str) -> CudaFunction {
    context.load_module(Ptx::from_src(text)).unwrap().load_function(entry).unwrap()
}

/// Computes `y = 0.5 x` for the first `n` elements, in blocks of 32.
pub(crate) fn scale(
    stream: &Arc<CudaStream>,
    function: &CudaFunction,
    x: &CudaSlice<f32>,
    y: &mut CudaSlice<f32>,
    n: u32,
) -> Result<(), DriverError> {
    let config =
        LaunchConfig { grid_dim: (n / 32 + 1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
    let mut launch = stream.launch_builder(function);
    launch.arg(x).arg(y).arg(&0.5_f32).arg(&n);
    // SAFETY: the arguments are the entry's four parameters in order; that it stays in bounds is what the interpreter checks.
    unsafe { launch.launch(config) }.map(|_| ())
}

#[test]
fn wrong_dimensions_are_refused_and_leave_no_fault() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let function = function(&context, SCALE, "scale");
        for (grid, block, shared) in [(0, 32, 0), (1, 1025, 0), (1, 0, 0), (1, 32, 1 << 20)] {
            let config = LaunchConfig {
                grid_dim: (grid, 1, 1),
                block_dim: (block, 1, 1),
                shared_mem_bytes: shared,
            };
            let mut launch = stream.launch_builder(&function);
            launch.arg(&0_u64).arg(&0_u64).arg(&0.5_f32).arg(&0_u32);
            // SAFETY: the arguments are the entry's four parameters; nothing runs.
            assert!(unsafe { launch.launch(config) }.is_err());
        }
        context.synchronize().unwrap();
    });
}
