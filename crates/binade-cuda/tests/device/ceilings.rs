//! Ceilings that benchmarks compare kernels with, and the driver's figures on the kernels.

use crate::support::{Result, captured, cuda, noise, own, vector};
use binade_core::DType;
use binade_cuda::{ReferencePass, cudarc::driver::sys::CUdevice_attribute as Attribute};
use std::collections::HashSet;

crate::tests![
    what_reads_rewrites_or_launches_nothing_keeps_every_bit,
    the_driver_tells_of_every_kernel_once,
    memory_in_use_is_counted_by_what_the_pool_lends,
    memory_of_a_captured_step_is_in_use_as_long_as_the_step_is_there,
];

fn what_reads_rewrites_or_launches_nothing_keeps_every_bit() -> Result {
    let cuda = cuda();
    let tensor = vector(&cuda, &noise(5, 9000), DType::F32);
    let bits = cuda.to_bits(&tensor)?;
    let mut copy = cuda.duplicate(&tensor)?;
    assert_ne!(copy.address(), tensor.address());
    let before = cuda.counters();
    cuda.reference_pass(ReferencePass::Rewrite(&mut copy))?;
    cuda.reference_pass(ReferencePass::Read(&tensor))?;
    cuda.reference_pass(ReferencePass::Nothing)?;
    let after = cuda.counters();
    assert_eq!((after.launches - before.launches, after.syncs - before.syncs), (3, 0));
    assert_eq!((cuda.to_bits(&copy)?, cuda.to_bits(&tensor)?), (bits.clone(), bits));
    Ok(())
}

fn the_driver_tells_of_every_kernel_once() -> Result {
    let kernels = cuda().kernels()?;
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
    let once: HashSet<_> = names.iter().collect();
    assert_eq!(once.len(), names.len(), "{names:?}");
    let is_new = names.contains(&"matmul_80_bf16_nn");
    assert!(names.contains(&"adam") && names.contains(&"matmul_f16"), "{names:?}");
    let major = cuda()
        .stream()
        .context()
        .attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    assert_eq!(is_new, major >= 8, "{names:?}");
    for kernel in &kernels {
        assert!(kernel.occupancy > 0.0 && kernel.occupancy <= 1.0, "{kernel:?}");
    }
    // Dynamic shared memory of a launch counts.
    let shared = |name: &str| kernels.iter().find(|it| it.name == name).map(|it| it.shared_bytes);
    assert_eq!([shared("matmul_f16"), shared("adam")], [Some(32_768), shared("sgd")]);
    Ok(())
}

fn memory_in_use_is_counted_by_what_the_pool_lends() -> Result {
    let cuda = own();
    let tensor = vector(&cuda, &noise(7, 1000), DType::F32);
    let (clone, before) = (tensor.clone(), cuda.memory_use().bytes);
    cuda.reset_peak_memory();
    let copies = [cuda.duplicate(&tensor)?, cuda.duplicate(&tensor)?];
    drop(copies);
    let copy = cuda.duplicate(&tensor)?;
    let used = cuda.memory_use();
    assert_eq!((used.bytes - before, used.peak_bytes - before), (4096, 2 * 4096));
    drop((tensor, clone, copy));
    cuda.reset_peak_memory();
    let used = cuda.memory_use();
    assert_eq!((before - used.bytes, used.peak_bytes), (4096, used.bytes));
    Ok(())
}

fn memory_of_a_captured_step_is_in_use_as_long_as_the_step_is_there() -> Result {
    let cuda = own();
    let tensor = vector(&cuda, &noise(8, 1000), DType::F32);
    // A device's first capture allocates some memory for good.
    let nothing = || Ok::<_, binade_cuda::Error>(());
    drop(cuda.capture().warm_up(nothing)?);
    let (step, before) = (|| cuda.duplicate(&tensor), cuda.memory_use().bytes);
    let captured = captured(&cuda, step)?;
    cuda.reset_peak_memory();
    drop(captured.replay()?);
    let used = cuda.memory_use();
    assert_eq!((used.bytes - before, used.peak_bytes - before), (4096, 4096));
    drop(captured);
    assert_eq!(cuda.memory_use().bytes, before);
    Ok(())
}
