//! What benchmarks hold the kernels against, and what the driver says of the kernels.

use crate::support::{Result, cuda, noise, vector};
use binade_core::DType;
use std::collections::HashSet;

crate::tests![
    a_rewrite_and_a_duplicate_keep_every_bit,
    a_read_and_an_empty_launch_leave_everything_as_it_was,
    the_driver_tells_of_every_kernel,
];

fn a_rewrite_and_a_duplicate_keep_every_bit() -> Result {
    let cuda = cuda();
    let tensor = vector(&cuda, &noise(5, 9000), DType::F32);
    let bits = cuda.to_bits(&tensor)?;
    let mut copy = cuda.duplicate(&tensor)?;
    assert_ne!(copy.address(), tensor.address());
    cuda.rewrite(&mut copy)?;
    assert_eq!(cuda.to_bits(&copy)?, bits);
    Ok(())
}

fn a_read_and_an_empty_launch_leave_everything_as_it_was() -> Result {
    let cuda = cuda();
    let tensor = vector(&cuda, &noise(6, 9000), DType::F32);
    let (bits, before) = (cuda.to_bits(&tensor)?, cuda.ledger());
    cuda.read_through(&tensor)?;
    cuda.launch_nothing()?;
    let after = cuda.ledger();
    assert_eq!((after.launches - before.launches, after.syncs - before.syncs), (2, 0));
    assert_eq!(cuda.to_bits(&tensor)?, bits);
    Ok(())
}

fn the_driver_tells_of_every_kernel() -> Result {
    let kernels = cuda().kernels()?;
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name).collect();
    // A line for each file of kernels, which has one or more; the first line is a heading.
    let files = include_str!("../../ptx/MANIFEST").lines().count() - 1;
    let unique: HashSet<&str> = names.iter().copied().collect();
    assert!(unique.len() == names.len() && names.len() >= files, "{files} files, {names:?}");
    assert!(unique.contains("adam") && unique.contains("relu_backward"), "{names:?}");
    for kernel in kernels {
        assert!(kernel.occupancy > 0.0 && kernel.occupancy <= 1.0, "{kernel:?}");
    }
    Ok(())
}
