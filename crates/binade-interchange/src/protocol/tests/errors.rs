//! Refusals: their messages, and the state that they leave unchanged.

use super::super::ProtocolError;
use super::*;
use half::f16;

fn grads(values: &mut [f32]) -> [Option<&mut [f32]>; 1] {
    [Some(values)]
}

#[test]
fn every_message_begins_with_torchs_and_goes_on() {
    let table = [
        (
            ProtocolError::NeverScaled { call: "step" },
            "Attempted step but _scale is None.  This may indicate your script did not use scaler.scale(loss or \
             outputs) earlier in the iteration.",
        ),
        (
            ProtocolError::AlreadyUnscaled { optimizer: SGD },
            "unscale_() has already been called on this optimizer since the last update().",
        ),
        (
            ProtocolError::UnscaledAfterStep { optimizer: SGD },
            "unscale_() is being called after step().",
        ),
        (
            ProtocolError::AlreadyStepped { optimizer: SGD },
            "step() has already been called since the last update().",
        ),
        (
            ProtocolError::NothingChecked { optimizer: SGD },
            "No inf checks were recorded for this optimizer.",
        ),
        (ProtocolError::NothingToUpdate, "No inf checks were recorded prior to update."),
        (ProtocolError::F16Gradients, "Attempting to unscale FP16 gradients."),
        (
            ProtocolError::OutOfRange { value: 1e39 },
            "value cannot be converted to type float without overflow",
        ),
        (ProtocolError::IntegerScale { value: 3 }, "'int' object has no attribute 'device'"),
        (ProtocolError::GrowthFactor { value: 1.0 }, "The growth factor must be > 1.0."),
        (ProtocolError::BackoffFactor { value: 1.0 }, "The backoff factor must be < 1.0."),
    ];
    for (error, torch) in table {
        let text = error.to_string();
        let advice = text.strip_prefix(torch).unwrap_or_else(|| panic!("{text}"));
        assert!(advice.len() > 20, "{text}");
    }
}

#[test]
fn a_message_names_the_optimizer_by_its_number() {
    let text = ProtocolError::AlreadyStepped { optimizer: ADAM }.to_string();
    assert!(text.contains("before optimizer 7 steps again"), "{text}");
}

#[test]
fn each_wrong_order_is_named() {
    let mut scaler = scaler(4.0, 2000);
    scaler.unscale(SGD, &mut grads(&mut [1.0])).unwrap();
    let twice = scaler.unscale(SGD, &mut grads(&mut [1.0]));
    assert_eq!(twice, Err(ProtocolError::AlreadyUnscaled { optimizer: SGD }));
    let _ = scaler.step(SGD, &mut grads(&mut [1.0])).unwrap();
    let late = scaler.unscale(SGD, &mut grads(&mut [1.0]));
    assert_eq!(late, Err(ProtocolError::UnscaledAfterStep { optimizer: SGD }));
    let again = scaler.step(SGD, &mut grads(&mut [1.0]));
    assert_eq!(again, Err(ProtocolError::AlreadyStepped { optimizer: SGD }));
}

#[test]
fn f16_gradients_are_refused_before_anything_moves() {
    let mut scaler = scaler(4.0, 2000);
    let mut grad = [f16::from_f32(8.0)];
    let refused = scaler.unscale(SGD, &mut [None, Some(&mut grad[..])]);
    assert_eq!(refused, Err(ProtocolError::F16Gradients));
    assert_eq!((grad, scaler.found(SGD)), ([f16::from_f32(8.0)], None));
    assert_eq!(
        scaler.unscale(SGD, &mut grads(&mut [1.0])),
        Ok(false),
        "as if it had not been called"
    );
}

#[test]
fn an_initial_scale_outside_f32_is_refused_at_the_first_use() {
    let mut scaler = ProtocolScaler::new(StateDict { scale: 1e39, ..Default::default() }).unwrap();
    assert_eq!(scaler.scale(1.0_f32), Err(ProtocolError::OutOfRange { value: 1e39 }));
    assert_eq!((scaler.current(), scaler.get_scale()), (None, 1e39));
}
