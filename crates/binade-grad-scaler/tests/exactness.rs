//! Whatever the scale does in between, gradients come back as division in f64 has them.

use crate::common::{backward, f32s, first, scaler, unscaled};
use binade_core::Named;
use binade_grad_scaler::{BadMicroBatch, LossScale, ScaleState};
use proptest::prelude::*;

/// Values and scales whose products and quotients are normal `f32` numbers.
fn value() -> impl Strategy<Value = f32> {
    (any::<bool>(), -30_i32..30, 1.0_f32..2.0).prop_map(|(negative, exponent, significand)| {
        let size = significand * 2.0_f32.powi(exponent);
        if negative { -size } else { size }
    })
}

proptest! {
    #[test]
    fn unscaling_is_exact_division_by_the_scale_the_loss_was_scaled_with(
        batches in prop::collection::vec((-40_i32..40, value()), 1..20),
        last in -40_i32..40,
    ) {
        let mut scaler = scaler(LossScale::dynamic());
        let mut early = Vec::new();
        for &(exponent, scaled) in &batches {
            scaler.set_state(ScaleState::from_exponent(exponent)).unwrap();
            let loss = scaler.scale(&f32s(&[1.0])).unwrap();
            let set = vec![Named::new("w", Some(f32s(&[scaled])))];
            early.push(loss.backward(|_| Ok(set)).unwrap());
        }
        scaler.set_state(ScaleState::from_exponent(last)).unwrap();
        for (grads, (exponent, scaled)) in early.into_iter().zip(batches) {
            let grads = grads.unscale().unwrap();
            let exact = f64::from(scaled) / 2.0_f64.powi(exponent);
            prop_assert_eq!(f64::from(first(grads.grads())[0]).to_bits(), exact.to_bits());
        }
    }

    #[test]
    fn scaling_and_unscaling_is_the_identity(exponent in -40_i32..40, x in value()) {
        let mut scaler = scaler(LossScale::dynamic());
        scaler.set_state(ScaleState::from_exponent(exponent)).unwrap();
        let grads = backward(&scaler, &[("w", &[x])]).unwrap().unscale().unwrap();
        prop_assert_eq!(first(grads.grads())[0].to_bits(), x.to_bits());
    }

    #[test]
    fn a_window_is_the_same_sum_under_any_movement_of_the_scale(
        batches in prop::collection::vec((-40_i32..40, value()), 1..20),
    ) {
        let mut scaler = scaler(LossScale::dynamic());
        let mut window = scaler.accumulate(BadMicroBatch::SkipWindow);
        for &(exponent, x) in &batches {
            scaler.set_state(ScaleState::from_exponent(exponent)).unwrap();
            window.add(unscaled(&scaler, &[("w", &[x])]).unwrap()).unwrap();
        }
        let sum = batches.iter().skip(1).fold(batches[0].1, |sum, (_, x)| sum + x);
        let window = window.finish()?.expect("a batch");
        prop_assert_eq!(first(window.grads())[0].to_bits(), sum.to_bits());
    }
}
