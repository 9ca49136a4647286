//! Claims of the page on a tensor of one's own.

use binade::prelude::*;
use binade_example_pages::own_tensor::{TRUTH, Vector, run};

#[test]
fn a_tensor_of_three_methods_trains_in_f16() {
    let fit = run().unwrap();
    assert_eq!(fit.weight.dtype(), DType::F16);
    for (found, true_weight) in fit.weight.to_f32().into_iter().zip(TRUTH) {
        assert!((found - true_weight).abs() < 2e-3, "{fit:?}");
    }
    assert!(fit.skipped > 0, "a first scale of 65536 overflows f16: {fit:?}");
}

#[test]
fn its_casts_round_once_to_nearest_even() {
    let third = Vector::F32(vec![1.0 / 3.0, 65520.0, 1.0 + 2.0_f32.powi(-11)]);
    let expected = [0.333_251_95, f32::INFINITY, 1.0];
    assert_eq!(third.cast(DType::F16).unwrap().to_f32(), expected);
}

#[test]
fn a_type_it_does_not_have_is_refused_by_name() {
    let error = Vector::F32(vec![1.0]).cast(DType::BF16).unwrap_err();
    assert_eq!(error.to_string(), "vectors are f16 or f32, and not bf16");
    assert_eq!(binade::core::Error::kind(&error), ErrorKind::Unsupported);
}

#[test]
fn the_tensor_is_under_sixty_lines() {
    let lines = include_str!("../../src/own_tensor/vector.rs").lines().count();
    assert!(lines < 60, "{lines}");
}
