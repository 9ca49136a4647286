//! Whole runs: sixteen bits go where `f32` goes, and what scaling is for.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_autocast::Region;
use binade_core::{DType, Named};
use binade_cpu::{Cpu, Tensor};
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, Plan, UpdateRule};
use binade_tape::{Tape, TapeError, Var};
use common::{f32s, named, tensor};

type Params = Vec<Named<Tensor>>;
type Failed = TapeError<binade_cpu::Error>;

/// How a run is set up: stored in, computed in, scaled by.
struct Setup {
    stored: DType,
    region: Region,
    rule: LossScale,
    /// What the loss is multiplied by, and the learning rate divided by.
    share: f32,
}

fn params(dtype: DType) -> Params {
    let shapes: [(&str, &[usize]); 3] =
        [("0.weight", &[16, 8]), ("0.bias", &[16]), ("1.weight", &[4, 16])];
    let low = |(seed, (name, shape))| {
        let Named { name, value } = named(name, shape, seed);
        Named { name, value: value.cast(dtype).unwrap() }
    };
    (0..).zip(shapes).map(low).collect()
}

/// The output of a small net, whose backward pass is where small gradients are lost.
fn output(tape: &Tape<Cpu>, params: &Params, batch: &Tensor) -> Result<Var<Cpu>, Failed> {
    let p = tape.parameters(params);
    let hidden = tape.constant(batch.clone()).linear(&p[0], Some(&p[1]))?.relu()?;
    hidden.linear(&p[2], None)
}

/// The loss before each of `steps` steps, without `share`, and the parameters after them.
fn run(setup: &Setup, steps: usize) -> (Vec<f32>, Params) {
    let Setup { stored, region, rule, share } = setup;
    let mut scaler = Scaler::new(Cpu, *rule).unwrap();
    let plan = Plan::new(UpdateRule::sgd(0.1 / f64::from(*share))).unwrap();
    let mut optimizer = MasterOptimizer::new(Cpu, params(*stored), plan).unwrap();
    let (batch, labels) = (tensor(&[4, 8], 7), Tensor::new(vec![3_i64, 1, 0, 2], &[4]).unwrap());
    let mut losses = Vec::new();
    for _ in 0..steps {
        let tape = Tape::new(Cpu, region);
        let loss =
            output(&tape, &optimizer.params, &batch).unwrap().cross_entropy(&labels).unwrap();
        losses.push(f32s(loss.tensor())[0]);
        let small = loss.mul(&tape.constant(Tensor::new(vec![*share], &[]).unwrap())).unwrap();
        let grads = scaler.scale(&small).unwrap().backward(Var::backward).unwrap();
        let step = grads.unscale().unwrap().step(&mut optimizer).unwrap();
        scaler.update(step).unwrap().leave_unread();
    }
    (losses, optimizer.params)
}

fn full() -> Setup {
    let region = Region::bf16().off();
    Setup { stored: DType::F32, region, rule: LossScale::none(), share: 1.0 }
}

/// The band: 5 % of the loss in `f32`, or 0.01 where that is more. bf16 has 8 bits, so that one product is off by up to
/// 0.4 %; the loss falls to less than a fifth meanwhile, so that a run which stands still is far outside.
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
        // Low enough for no step to be skipped, which would put the run one step behind.
        let setup = Setup { stored, region, rule: LossScale::fixed(256.0).unwrap(), share: 1.0 };
        let (losses, _) = run(&setup, 200);
        for (step, (loss, exact)) in losses.iter().zip(&exact).enumerate() {
            let band = (0.05 * exact).max(0.01);
            assert!((loss - exact).abs() <= band, "{stored}, step {step}: {loss}, {exact} in f32");
        }
    }
}

/// A loss of 2^-26 of the usual: its gradients are below what f16 holds, and a scale of up to 2^24 brings them back.
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
