//! A learning rate by the number of applied steps, set by way of the config.

use binade::OptLevel::O2;
use binade::core::DType::F16;
use binade::grad_scaler::ScaleState;
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};

/// Rates that tell the step they were taken at, and are powers of two.
fn rate(step: u64) -> f64 {
    0.5_f64.powi(i32::try_from(step).unwrap() + 1)
}

/// Runs gradients of 1, but for those that overflow; returns the rates and the weight.
fn run(number: fn(&ScaleState) -> u64, bad: [bool; 4]) -> (Vec<f64>, f32) {
    let model = Model::new(vec![Named::new("w", Tensor::new(vec![0.0_f32], &[1]).unwrap())]);
    let rule = UpdateRule::sgd(rate(0));
    let mut amp = initialize(Cpu, model, rule, O2.with(F16)).unwrap();
    let (mut rates, mut step) = (Vec::new(), 0);
    for bad in bad {
        rates.push(rate(step));
        let config = amp.optimizer.config().clone().with_lr(rate(step)).unwrap();
        amp.optimizer.set_config(config).unwrap();
        let loss = amp.scaler.scale(&Tensor::scalar(1.0_f32)).unwrap();
        let grads = loss.backward(|scaled| {
            let factor = if bad { f32::INFINITY } else { scaled.to_f32()[0] };
            Ok(vec![Named::new("w", Some(Tensor::new(vec![factor], &[1])?))].into())
        });
        let pending = grads.unwrap().unscale().unwrap().step(&mut amp.optimizer).unwrap();
        step = number(&amp.scaler.update(pending).unwrap().resolve().unwrap().report().scale);
    }
    (rates, amp.optimizer.params[0].value.to_f32()[0])
}

#[test]
fn on_applied_every_planned_rate_is_taken_once_though_steps_are_skipped() {
    let (rates, weight) = run(ScaleState::applied, [true, true, false, false]);
    assert_eq!((rates, weight), (vec![0.5, 0.5, 0.5, 0.25], -0.75));
}

#[test]
fn on_attempted_rates_fall_though_nothing_was_learnt() {
    let (rates, weight) = run(|scale| scale.updates, [true, true, false, false]);
    assert_eq!((rates, weight), (vec![0.5, 0.25, 0.125, 0.0625], -0.1875));
}
