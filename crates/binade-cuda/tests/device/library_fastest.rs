//! The fastest of cuBLASLt's algorithms, where it is asked for. The stand-in's first is slow, its second is refused, and its third
//! adds in the reverse order.

use crate::support::{Result, is_stand_in, noise, warmed};
use binade_core::DType;
use binade_core::ops::{MatMul, Upload};
use binade_cuda::{Cuda, Products, ProductsBackend, Tensor};

crate::tests![
    each_algorithm_is_timed_once_a_shape_and_the_fastest_kept,
    a_captured_step_takes_the_algorithm_that_its_warm_up_found,
];

fn operands(cuda: &Cuda) -> Result<[Tensor; 2]> {
    let of = |seed| cuda.upload(&noise(seed, 48 * 48), &[48, 48], DType::F32);
    Ok([of(1)?, of(2)?])
}

fn each_algorithm_is_timed_once_a_shape_and_the_fastest_kept() -> Result {
    let cuda = crate::support::own().with_products(Products::Fastest);
    let by = cuda.products()?;
    assert!(matches!(by, ProductsBackend::Library { algorithms: 8, .. }), "{by}");
    let [a, b] = operands(&cuda)?;
    let fastest = cuda.to_bits(&cuda.matmul(&a, &b)?)?;
    let found = cuda.counters();
    assert_eq!((found.library, found.searches), (1, 1));
    let again = cuda.to_bits(&cuda.matmul(&a, &b)?)?;
    assert!(fastest == again);
    // One wait each is for the download.
    let waits = cuda.counters().syncs - found.syncs;
    assert_eq!((cuda.counters().searches, waits), (1, 1), "nothing is timed again");
    let cuda = cuda.with_products(Products::Library);
    let first = cuda.to_bits(&cuda.matmul(&a, &b)?)?;
    assert_eq!(cuda.counters().searches, 2, "the library's own choice is another");
    if is_stand_in() {
        assert_eq!(found.syncs, 2 + 1, "two are timed, one is refused, and a result is read");
        assert!(fastest != first, "the fastest adds in the reverse order");
    }
    Ok(())
}

fn a_captured_step_takes_the_algorithm_that_its_warm_up_found() -> Result {
    let cuda = crate::support::own().with_products(Products::Fastest);
    let [a, b] = operands(&cuda)?;
    let step = || cuda.matmul(&a, &b);
    let captured = warmed(&cuda, step)?.capture(step)?;
    let replayed = cuda.to_bits(&captured.replay()?)?;
    assert!(replayed == cuda.to_bits(&cuda.matmul(&a, &b)?)?);
    assert_eq!(cuda.counters().searches, 1);
    Ok(())
}
