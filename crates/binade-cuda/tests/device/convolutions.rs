//! Convolutions by cuDNN, if it is installed, against products over windows: the same bounds, one search a shape, and captured
//! steps. Without cuDNN most of these tests are ignored, unless `BINADE_REQUIRE` names `cudnn`.

#[cfg(feature = "cudnn")]
mod by_library;

use crate::support::{Result, noise, own};
use binade_core::DType;
use binade_core::ops::{Conv2d, Conv2dConfig, Upload};
use binade_cuda::{Products, ProductsBackend};

#[cfg(feature = "cudnn")]
pub(crate) use by_library::TESTS;

/// Tests that hold with the library, without it, and without the feature.
pub(crate) const EITHER: &[crate::shared::Test] = &[
    ("what_convolves_is_told_with_its_version", what_convolves_is_told_with_its_version),
    ("products_that_are_asked_for_convolve_alone", products_that_are_asked_for_convolve_alone),
];

fn what_convolves_is_told_with_its_version() -> Result {
    let cuda = own();
    let by = cuda.convolutions()?;
    assert_eq!(cuda.convolutions()?, by);
    let is_built = cfg!(feature = "cudnn");
    match &by {
        ProductsBackend::Library { version, .. } => {
            assert!(is_built && *version >= 90_000, "{by}");
        }
        ProductsBackend::Own { why } if is_built => assert!(why.contains("cuDNN"), "{why}"),
        ProductsBackend::Own { why } => assert!(why.contains("feature"), "{why}"),
        other => panic!("{other}"),
    }
    Ok(())
}

fn products_that_are_asked_for_convolve_alone() -> Result {
    let cuda = own().with_products(Products::Own);
    let ProductsBackend::Own { why } = cuda.convolutions()? else {
        panic!("this is not asked for")
    };
    assert_eq!(why == "asked for", cfg!(feature = "cudnn"), "{why}");
    let x = cuda.upload(&noise(1, 64), &[1, 4, 4, 4], DType::F16)?;
    let w = cuda.upload(&noise(2, 144), &[4, 4, 3, 3], DType::F16)?;
    cuda.conv2d(&x, &w, None, Conv2dConfig::default())?;
    assert_eq!((cuda.counters().convolutions, cuda.counters().searches), (0, 0));
    Ok(())
}
