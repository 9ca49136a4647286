//! The mistakes that compile, and who tells of each while the program runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_adoption_mistakes::{Descent, Mine, back, start};
use binade_grad_scaler::Step;
use binade_grad_scaler::core::Named;

/// One iteration as it should be, whose gradient is `gradient` times the scaled loss.
fn iteration(gradient: f32, steps: usize) -> Vec<Step> {
    let (mut scaler, mut descent, loss) = start().unwrap();
    let mut step = || {
        let scaled = scaler.scale(&loss).unwrap();
        let grads = scaled.backward(|scaled| back(&Mine(scaled.0 * gradient))).unwrap();
        let step = grads.unscale().unwrap().step(&mut descent).unwrap();
        scaler.update(step).unwrap().resolve().unwrap()
    };
    (0..steps).map(|_| step()).collect()
}

#[test]
fn an_overflow_is_a_skipped_step_with_the_parameter_and_both_scales() {
    let step = &iteration(f32::INFINITY, 1)[0];
    let told = step.report().to_string();
    assert!(!step.is_applied() && told.contains("weight") && told.contains("65536"), "{told}");
}

#[test]
fn a_run_of_nan_ends_in_divergence_that_is_an_error() {
    let steps = iteration(f32::NAN, 60);
    let diverged = steps.into_iter().filter(|step| step.clone().unless_diverged().is_err());
    assert!(diverged.count() > 0);
}

#[test]
fn a_parameter_without_a_gradient_is_named_in_an_applied_step() {
    let (mut scaler, mut descent, loss) = start().unwrap();
    let scaled = scaler.scale(&loss).unwrap();
    let grads = scaled.backward(|scaled| {
        let mut grads = back(scaled)?;
        grads.push(Named::new("left.out", None));
        Ok(grads)
    });
    let step = grads.unwrap().unscale().unwrap().step(&mut descent).unwrap();
    let step = scaler.update(step).unwrap().resolve().unwrap();
    assert!(step.is_applied());
    assert!(step.report().to_string().contains("no gradient for left.out"));
}

#[test]
fn a_loss_scale_out_of_reach_is_refused_with_the_reach() {
    let rule = binade_grad_scaler::LossScale::dynamic().with_init_scale(1000.0);
    let told = rule.err().unwrap().to_string();
    assert!(told.contains("1000"), "{told}");
}

/// The hard one: a backward pass that ignores the scaled loss gives gradients that are too small by the scale, and nothing in them shows it.
#[test]
fn a_backward_pass_that_ignores_the_scaled_loss_moves_the_weight_too_little() {
    let (mut scaler, mut descent, loss) = start().unwrap();
    let grads = scaler.scale(&loss).unwrap().backward(|_| back(&loss)).unwrap();
    let step = grads.unscale().unwrap().step(&mut descent).unwrap();
    assert!(scaler.update(step).unwrap().resolve().unwrap().is_applied());
    let Descent(weight) = descent;
    assert!(1.0 - weight <= 0.1 / 60_000.0, "{weight}");
}
