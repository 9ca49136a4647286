//! Faults of kernels show as on a GPU: the launch succeeds, and every later call fails.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, LaunchConfig, PushKernelArg};

use super::{
    abroad,
    kernels::{SCALE, function, scale},
    process::{alone, refused},
};

/// Launches a kernel that reads one element too far.
fn launch_broken(context: &Arc<CudaContext>) -> Arc<CudaStream> {
    let stream = context.default_stream();
    let broken = function(context, SCALE, "scale_off_by_one");
    let x = stream.clone_htod(&[1.0_f32; 5]).unwrap();
    let mut y = stream.alloc_zeros::<f32>(5).unwrap();
    scale(&stream, &broken, &x, &mut y, 5).unwrap();
    stream
}

#[test]
fn a_kernel_out_of_bounds_faults_the_context_for_good_and_is_reported() {
    let told = alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = launch_broken(&context);
        for _ in 0..2 {
            refused!(stream.synchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        }
        assert!(stream.alloc_zeros::<f32>(1).is_err() && context.synchronize().is_err());
        let report = abroad::last_report();
        assert!(report.contains("(scale.cu:11), block (0, 0, 0), thread (5, 0, 0)"), "{report}");
        drop((stream, context));
        // A new primary context has no fault.
        CudaContext::new(0).unwrap().synchronize().unwrap();
    });
    assert!(told.is_none_or(|told| told.contains("binade-ptx: out-of-bounds 4-byte read")));
}

#[test]
fn a_misaligned_access_has_a_code_of_its_own() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let right = function(&context, SCALE, "scale");
        let x = stream.clone_htod(&[1.0_f32; 2]).unwrap().leak();
        let config =
            LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        let mut launch = stream.launch_builder(&right);
        let crooked = x + 1;
        launch.arg(&crooked).arg(&x).arg(&1.0_f32).arg(&1_u32);
        // SAFETY: the arguments are the entry's four parameters; that one is misaligned is what is tested.
        unsafe { launch.launch(config) }.unwrap();
        refused!(stream.synchronize(), CUDA_ERROR_MISALIGNED_ADDRESS);
    });
}

#[test]
fn a_race_is_an_unspecified_launch_failure() {
    alone!({
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        let text = include_str!("../fixtures/block_sum.ptx");
        let broken = function(&context, text, "block_sum_race");
        let x = stream.clone_htod(&[1.0_f32; 128]).unwrap();
        let mut y = stream.alloc_zeros::<f32>(1).unwrap();
        abroad::sum(&stream, &broken, &x, &mut y).unwrap();
        refused!(stream.synchronize(), CUDA_ERROR_LAUNCH_FAILED);
    });
}
