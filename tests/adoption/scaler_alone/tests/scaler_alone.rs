//! Three ways to the same weights, over gradients that overflow `f16` under the first scale.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_adoption_scaler_alone::{by_protocol, loss, over_foreign, typed};

const STEPS: usize = 60;

#[test]
fn the_typed_order_and_the_protocol_end_in_the_same_bits() {
    let trained = typed::train(STEPS).unwrap();
    assert_eq!(trained.weights, by_protocol::train(STEPS).unwrap());
    assert!(loss(&trained.weights) < 1e-6, "{:?}", trained.weights);
}

#[test]
fn a_skipped_step_names_the_parameter_and_both_scales() {
    let told = typed::train(STEPS).unwrap().told;
    assert!(told[0].contains("weights") && told[0].contains("65536"), "{told:?}");
}

#[test]
fn a_foreign_handle_that_records_gradients_trains_in_f16() {
    let (weights, skipped) = over_foreign::train(STEPS).unwrap();
    assert!(skipped > 0 && loss(&weights) < 1e-6, "{weights:?} after {skipped} skipped steps");
}
