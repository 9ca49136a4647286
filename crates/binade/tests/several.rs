//! Several models, optimizers and losses from one setup.

use binade::OptLevel::O2;
use binade::Setup;
use binade::core::DType::F16;
use binade::grad_scaler::{Scaler, UnscaledGrads};
use binade::prelude::*;
use binade_cpu::{Cpu, Tensor};

fn setup() -> Setup<Cpu> {
    Setup::new(Cpu, O2.with(F16)).unwrap()
}

fn optimizer(setup: &Setup<Cpu>, name: &str, rule: UpdateRule) -> MasterOptimizer<Cpu> {
    let weight = Tensor::new(vec![1.0_f32, 2.0], &[2]).unwrap();
    let model = Model::new(vec![Named::new(name, weight)]);
    setup.optimizer(model, rule).unwrap()
}

/// Gradients of ±`factor` times the scale, in f16 as the parameters are.
fn grads(scaler: &Scaler<Cpu>, name: &str, factor: f32) -> UnscaledGrads<Cpu> {
    let raised = scaler.scale(&Tensor::scalar(factor)).unwrap();
    let grads = raised.backward(|raised| {
        let slope = raised.to_f32()[0];
        let grad = Tensor::new(vec![slope, -slope], &[2])?.cast(F16)?;
        Ok(vec![Named::new(name, Some(grad))].into())
    });
    grads.unwrap().unscale().unwrap().named(name)
}

fn values(optimizer: &MasterOptimizer<Cpu>) -> Vec<f32> {
    optimizer.params[0].value.to_f32().into_owned()
}

#[test]
fn two_models_are_stored_alike_and_moved_apart() {
    let setup = setup();
    let mut first = optimizer(&setup, "generator", UpdateRule::sgd(0.5));
    let second = optimizer(&setup, "critic", UpdateRule::adamw(0.5));
    assert_eq!([&first, &second].map(|o| o.params[0].value.dtype()), [F16; 2]);
    let mut scaler = setup.scaler().unwrap();
    let step = grads(&scaler, "generator", 0.5).step(&mut first).unwrap();
    assert!(scaler.update(step).unwrap().resolve().unwrap().is_applied());
    assert_eq!((values(&first), values(&second)), (vec![0.75, 2.25], vec![1.0, 2.0]));
}

#[test]
fn two_losses_with_scalers_of_their_own_leave_each_other_alone() {
    let setup = setup();
    let [mut first, mut second] = [setup.scaler().unwrap(), setup.scaler().unwrap()];
    let mut model = optimizer(&setup, "shared", UpdateRule::sgd(0.5));
    let bad = grads(&first, "shared", f32::NAN).step(&mut model).unwrap();
    assert!(!first.update(bad).unwrap().resolve().unwrap().is_applied());
    let good = grads(&second, "shared", 0.5).step(&mut model).unwrap();
    assert!(second.update(good).unwrap().resolve().unwrap().is_applied());
    let factors = [&first, &second].map(|scaler| scaler.state().unwrap().factor());
    assert_eq!(factors, [32768.0, 65536.0]);
    assert_eq!(values(&model), [0.75, 2.25]);
}
