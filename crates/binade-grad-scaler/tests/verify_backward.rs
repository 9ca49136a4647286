//! A backward pass that ignores the scaled loss is found.

use crate::common::{Grads, Host, Result, Set, f32s, scaler, times};
use binade_core::{Error as _, ErrorKind, HostDeviceError, Named, OrderError, TrainError};
use binade_grad_scaler::LossScale;

const SET: Set<'_> = &[("w", &[0.5, -2.0])];

fn verify(run: impl FnMut(&Host) -> Result<Grads>) -> Option<OrderError> {
    match scaler(LossScale::dynamic()).verify_backward(&f32s(&[1.0]), run) {
        Ok(()) => None,
        Err(HostDeviceError::Train(TrainError::Order(error))) => Some(error),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_backward_of_the_scaled_loss_passes() {
    assert_eq!(verify(|seed| Ok(times(SET, seed))), None);
}

#[test]
fn a_backward_of_the_unscaled_loss_is_an_error_that_says_what_was_seen() {
    let error = verify(|_| Ok(times(SET, &f32s(&[1.0])))).expect("the scale was ignored");
    let seen = OrderError::BackwardIgnoresScale { small: 2.0, large: 2.0, factor: 256.0 };
    assert_eq!((error.kind(), &error), (ErrorKind::InvalidArgument, &seen));
    assert_eq!(
        error.to_string(),
        "backward does not differentiate the scaled loss: the largest |gradient| is 2e0 for a loss times 1 and 2e0 for a loss \
         times 256; start the backward pass from the tensor that the closure is given, and multiply by the scale nowhere else"
    );
}

#[test]
fn a_backward_that_scales_twice_is_an_error() {
    let squared = |seed: &Host| f32s(&[seed.to_f32()[0] * seed.to_f32()[0]]);
    let small: Set<'_> = &[("w", &[1e-6])];
    for set in [SET, small] {
        assert!(verify(|seed| Ok(times(set, &squared(seed)))).is_some(), "{set:?}");
        assert_eq!(verify(|seed| Ok(times(set, seed))), None, "{set:?}");
    }
}

#[test]
fn gradients_that_are_zero_absent_or_nan_cannot_be_verified() {
    let missing = || vec![Named::new("w", None)];
    assert!(verify(|seed| Ok(times(&[("w", &[0.0])], seed))).is_some());
    assert!(verify(|_| Ok(missing())).is_some());
    for bad in [f32::NAN, f32::NEG_INFINITY] {
        let error = verify(|seed| Ok(times(&[("w", &[bad, 0.0])], seed))).expect("not finite");
        let text = error.to_string();
        let told = format!("is {} for a loss times 1 and {0} for a loss times 256", bad.abs());
        assert!(text.contains(&told), "{text}");
        assert!(text.contains("gradients are not finite before they are scaled"), "{text}");
    }
    let beside = verify(|_| Ok(times(&[("w", &[2.0, f32::NAN])], &f32s(&[1.0]))));
    let seen = OrderError::BackwardIgnoresScale { small: 2.0, large: 2.0, factor: 256.0 };
    assert_eq!(beside, Some(seen), "the finite ones are told");
}

#[test]
fn what_underflows_under_the_small_scale_or_overflows_under_the_large_one_passes() {
    let flushed = |seed: &Host| if seed.to_f32()[0] > 1.0 { 1.0 } else { 0.0 };
    assert_eq!(verify(|seed| Ok(times(SET, &f32s(&[flushed(seed)])))), None);
    let limited = |seed: &Host| if seed.to_f32()[0] > 1.0 { f32::INFINITY } else { 1.0 };
    assert_eq!(verify(|seed| Ok(times(SET, &f32s(&[limited(seed)])))), None);
}

#[test]
fn a_scaled_loss_tells_the_factor_that_a_backward_pass_starts_from() {
    let scaler = scaler(LossScale::dynamic());
    let scale = || scaler.scale(&f32s(&[1.0])).expect("a loss");
    assert_eq!(scale().factor().to_bits(), 65536.0_f32.to_bits());
    let by_factor = scale();
    let factor = f32s(&[by_factor.factor()]);
    let grads = by_factor.backward(|_| Ok(times(SET, &factor))).expect("gradients");
    let grads = grads.unscale();
    assert_eq!(grads.expect("unscaled").grads()[0].value, Some(f32s(SET[0].1)));
}
