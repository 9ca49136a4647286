//! Gradients that are not there, sets that are empty, and losses that were never scaled.

use crate::common::sgd::Sgd;
use crate::common::{Result, f32s, finish, first, iterate, scaler};
use binade_core::Named;
use binade_grad_scaler::{BadMicroBatch, LossScale};

#[test]
fn a_missing_gradient_is_reported_and_the_others_are_applied() -> Result {
    let (mut scaler, mut sgd) =
        (scaler(LossScale::dynamic()), Sgd::new(&[("frozen", &[1.0]), ("w", &[1.0])]));
    let grads = scaler.scale(&f32s(&[1.0]))?.backward(|factor| {
        Ok(vec![Named::new("frozen", None), Named::new("w", Some(factor.clone()))])
    })?;
    let step = finish(grads.unscale()?, &mut scaler, &mut sgd)?;
    assert!(step.is_applied());
    assert_eq!(step.report().missing().map(|name| &**name).collect::<Vec<_>>(), ["frozen"]);
    let values: Vec<_> = sgd.params.iter().map(|p| p.value.to_f32()[0]).collect();
    assert_eq!(values, [1.0, 0.9]);
    Ok(())
}

#[test]
fn a_window_tells_in_which_micro_batches_a_gradient_was_missing() -> Result {
    let mut scaler = scaler(LossScale::dynamic());
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for present in [true, false, true] {
        let expert = present.then(|| f32s(&[1.0]));
        window.add(scaler.check_unscaled(vec![Named::new("expert", expert)])?)?;
    }
    let step = finish(window.finish()?.expect("three"), &mut scaler, &mut Sgd::new(&[]))?;
    let parts = &step.report().steps[0].parts;
    let missing: Vec<_> = parts.iter().filter(|p| !p.finding.missing.is_empty()).collect();
    assert_eq!((missing.len(), missing[0].name.as_str()), (1, "micro-batch 1"));
    Ok(())
}

#[test]
fn an_empty_set_and_empty_gradients_are_good_steps() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    for set in [&[][..], &[("w", &[][..])]] {
        let step = iterate(&mut scaler, &mut sgd, set)?;
        assert!(step.is_applied());
        assert_eq!(step.report().missing().count(), 0);
    }
    assert_eq!(scaler.state()?.good_steps, 2);
    Ok(())
}

#[test]
fn gradients_of_a_loss_that_was_never_scaled_are_checked_and_divided_by_nothing() -> Result {
    let (mut scaler, mut sgd) = (scaler(LossScale::dynamic()), Sgd::new(&[]));
    for (x, applied) in [(0.3, true), (f32::NAN, false)] {
        let grads = scaler.check_unscaled(vec![Named::new("w", Some(f32s(&[x])))])?;
        assert_eq!(first(grads.grads())[0].to_bits(), x.to_bits());
        let step = grads.step(&mut sgd)?;
        assert_eq!(scaler.update(step)?.resolve()?.is_applied(), applied);
    }
    Ok(())
}
