//! Whole runs: sixteen bits converge as `f32` does, and scaling keeps small gradients.

use crate::common::{Params, f32s, loss, params, tensor};
use binade_autocast::Region;
use binade_core::DType;
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_tape::{Tape, Var};

/// Setup of a run: stored type, region and loss-scale rule.
struct Setup {
    stored: DType,
    region: Region,
    rule: LossScale,
    /// Factor of the loss, by which the learning rate is divided.
    share: f32,
}

/// Returns the loss before each of `steps` steps, without `share`, and the parameters after them.
fn run(setup: &Setup, steps: usize) -> (Vec<f32>, Params) {
    let Setup { stored, region, rule, share } = setup;
    let mut scaler = Scaler::new(Cpu, *rule).unwrap();
    let config = OptimizerConfig::new(UpdateRule::sgd(0.1 / f64::from(*share))).unwrap();
    let mut optimizer = MasterOptimizer::new(Cpu, params(*stored), config).unwrap();
    let batch = tensor(&[4, 8], 7);
    let mut losses = Vec::new();
    for _ in 0..steps {
        let tape = Tape::new(Cpu, region);
        let loss = loss(&tape, &optimizer.params, &batch).unwrap();
        losses.push(f32s(loss.tensor())[0]);
        let small = loss.mul(&tape.constant(Tensor::new(vec![*share], &[]).unwrap())).unwrap();
        let grads = scaler.scale(&small).unwrap().backward(Var::backward).unwrap();
        let step = grads.unscale().unwrap().step(&mut optimizer).unwrap();
        scaler.update(step).unwrap().ignore();
    }
    (losses, optimizer.params)
}

fn full() -> Setup {
    let region = Region::bf16().off();
    Setup { stored: DType::F32, region, rule: LossScale::none(), share: 1.0 }
}

/// The band is 5 % of the loss in `f32`, or 0.01 if that is more. bf16 has 8 bits, so that one product is off by up to 0.4 %. The
/// loss falls to less than a fifth meanwhile, so that a run which does not learn is far outside.
#[test]
fn two_hundred_steps_in_sixteen_bits_track_those_in_f32() {
    let (exact, _) = run(&full(), 200);
    assert!(exact[199] < 0.2 * exact[0], "{exact:?}");
    for (stored, region) in [
        (DType::F32, Region::bf16()),
        (DType::F32, Region::f16()),
        (DType::BF16, Region::bf16()),
        (DType::F16, Region::f16()),
    ] {
        // The scale is low enough for no step to be skipped, which would put the run one step behind.
        let setup = Setup { stored, region, rule: LossScale::fixed(256.0).unwrap(), share: 1.0 };
        let (losses, _) = run(&setup, 200);
        for (step, (loss, exact)) in losses.iter().zip(&exact).enumerate() {
            let band = (0.05 * exact).max(0.01);
            assert!((loss - exact).abs() <= band, "{stored}, step {step}: {loss}, {exact} in f32");
        }
    }
}

/// The loss is 2^-26 of the usual one: its gradients are below the range of f16, and a scale of up to 2^24 brings them back.
#[test]
fn small_gradients_are_lost_in_f16_without_scaling_and_kept_with() {
    let share = 2.0_f32.powi(-26);
    let setup = |region, rule| Setup { stored: DType::F32, region, rule, share };
    let [lost, kept, exact] = [
        setup(Region::f16(), LossScale::none()),
        setup(Region::f16(), LossScale::fixed(16_777_216.0).unwrap()),
        setup(Region::f16().off(), LossScale::none()),
    ]
    .map(|setup| run(&setup, 100));
    assert!(lost.0[99] > 0.9 * lost.0[0], "without scaling it learned: {:?}", lost.0);
    let weight = |params: &Params| params[0].value.to_bits();
    assert_eq!(weight(&lost.1), weight(&params(DType::F32)), "every gradient was zero");
    assert!(kept.0[99] < 0.5 * kept.0[0], "with scaling it did not learn: {:?}", kept.0);
    let band = (0.05 * exact.0[99]).max(0.01);
    assert!((kept.0[99] - exact.0[99]).abs() <= band, "{} and {}", kept.0[99], exact.0[99]);
}
