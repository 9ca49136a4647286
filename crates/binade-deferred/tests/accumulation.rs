//! Gradients that only a bad micro-batch had: they turn out to be missing, as on the CPU.

use binade_core::{DType, GradSet as _, Named};
use binade_deferred::{Deferred, Gradients};
use binade_grad_scaler::{GradOps as _, GradScaler as _, ScaleState, ScaleStore as _};
use binade_master_weights::{MasterWeights as _, Plan, UpdateRule};
use binade_ops::{Download as _, Upload as _};

/// Adds micro-batches of two parameters, `a` and `b`: a bad one with both, and a good one with `b` alone.
fn window(device: &Deferred, bad_first: bool) -> Gradients {
    let one = |x: f32| device.upload(&[x], &[1], DType::F32).unwrap();
    let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
    let bad = vec![Named::new("a", Some(one(f32::NAN))), Named::new("b", Some(one(1.0)))];
    let good = vec![Named::new("a", None), Named::new("b", Some(one(2.0)))];
    let order = if bad_first { [bad, good] } else { [good, bad] };
    let sum = order.into_iter().fold(None, |sum, set| {
        let mut grads = Gradients::from(set);
        let found = device.unscale(&mut grads, &scale).unwrap();
        Some(device.accumulate(sum, grads, &found).unwrap())
    });
    sum.expect("two")
}

#[test]
fn a_parameter_with_a_gradient_in_a_bad_micro_batch_only_does_not_decay() {
    for bad_first in [true, false] {
        let device = Deferred::strict();
        let one = || device.upload(&[1.0], &[1], DType::F32).unwrap();
        let mut params = vec![Named::new("a", one()), Named::new("b", one())];
        let plan = Plan::new(UpdateRule::adamw(0.5)).unwrap();
        let mut masters = device.masters(&mut params, &plan).unwrap();
        let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
        let mut sum = window(&device, bad_first);
        let found = device.unscale(&mut sum, &scale).unwrap();
        device.step(&mut params, &mut masters, sum, &found).unwrap();
        let _window = device.window();
        assert_eq!(device.download(&params[0].value).unwrap(), [1.0], "{bad_first}");
        assert!(device.download(&params[1].value).unwrap()[0] < 0.6, "{bad_first}");
        let kept = device.host_masters(&masters).unwrap();
        assert_eq!(["a", "b"].map(|name| kept.get(name).unwrap().applied), [0, 1]);
    }
}

#[test]
fn a_set_that_was_computed_materialises_as_what_it_holds_and_one_that_was_not_as_zeros() {
    for (bad_first, computed) in [(true, true), (true, false), (false, true), (false, false)] {
        let device = Deferred::new();
        let sum = window(&device, bad_first);
        if computed {
            device.run();
        }
        let plain = device.materialise(sum).unwrap();
        let values = |at: usize| plain[at].value.as_ref().map(|x| device.download(x).unwrap());
        let expected = (!computed).then(|| vec![0.0]);
        assert_eq!((values(0), values(1)), (expected, Some(vec![2.0])), "{bad_first} {computed}");
    }
}
