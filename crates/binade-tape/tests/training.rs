//! Training loop: a scaler over a tape, and the device's own optimizer.

use crate::common::{Params, f32s, loss, params, tensor};
use binade_autocast::Region;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, Scaler, Step};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};
use binade_tape::{Tape, TapeError, Var};

fn optimizer(dtype: DType) -> MasterOptimizer<Cpu> {
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5)).unwrap();
    MasterOptimizer::new(Cpu, params(dtype), config).unwrap()
}

fn bits(params: &Params) -> Vec<Vec<u8>> {
    params.iter().map(|param| param.value.to_bits()).collect()
}

#[test]
fn a_power_of_two_scale_changes_no_bit_of_f32_gradients() {
    let step = |rule| {
        let scaler = Scaler::new(Cpu, rule).unwrap();
        let tape = Tape::new(Cpu, &Region::bf16().off());
        let loss = loss(&tape, &params(DType::F32), &tensor(&[4, 8], 7)).unwrap();
        let grads = scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
        let mut optimizer = optimizer(DType::F32);
        let _ = grads.unscale().unwrap().step(&mut optimizer).unwrap();
        bits(&optimizer.params)
    };
    assert_eq!(step(LossScale::fixed(16_384.0).unwrap()), step(LossScale::none()));
}

#[test]
fn an_overflow_in_f16_is_skipped_named_and_backed_off_from() {
    let mut scaler =
        Scaler::new(Cpu, LossScale::dynamic().with_init_scale(2.0_f32.powi(60)).unwrap()).unwrap();
    let mut optimizer = optimizer(DType::F32);
    let before = bits(&optimizer.params);
    let tape = Tape::new(Cpu, &Region::f16());
    let loss = loss(&tape, &optimizer.params, &tensor(&[4, 8], 7)).unwrap();
    let grads = scaler.scale(&loss).unwrap().backward(Var::backward).unwrap();
    let step = grads.unscale().unwrap().step(&mut optimizer).unwrap();
    let Step::Skipped(report) = scaler.update(step).unwrap().resolve().unwrap() else {
        panic!("an overflow")
    };
    assert_eq!(&*report.overflow().unwrap().parameter, "0.weight");
    assert_eq!((report.scale.before, report.scale.exponent), (60, 59));
    assert_eq!(bits(&optimizer.params), before);
}

#[test]
fn a_window_of_two_halves_steps_as_the_whole_batch_does() {
    let scaler = Scaler::new(Cpu, LossScale::fixed(256.0).unwrap()).unwrap();
    let (mut whole, mut halves) = (optimizer(DType::F32), optimizer(DType::F32));
    let batch = tensor(&[4, 8], 7);
    let differentiate = |params: &Params, factor: f32| {
        let tape = Tape::new(Cpu, &Region::bf16().off());
        let loss = loss(&tape, params, &batch).unwrap().scaled_by(factor).unwrap();
        scaler.scale(&loss).unwrap().backward(Var::backward).unwrap().unscale().unwrap()
    };
    let at_once = differentiate(&whole.params, 1.0).step(&mut whole).unwrap();
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for _ in 0..2 {
        window.add(differentiate(&halves.params, 0.5)).unwrap();
    }
    let in_halves = window.finish().unwrap().unwrap().step(&mut halves).unwrap();
    drop((at_once, in_halves));
    assert_eq!(bits(&whole.params), bits(&halves.params));
}

#[test]
fn a_gradient_of_no_optimizer_is_unscaled_on_the_tape() {
    let scaler = Scaler::new(Cpu, LossScale::fixed(1024.0).unwrap()).unwrap();
    let tape = Tape::new(Cpu, &Region::bf16().off());
    let x = tape.variable(tensor(&[3], 1));
    let loss = x.mul(&x).unwrap().sum().unwrap();
    let raised = scaler.scale(&loss).unwrap();
    let grads =
        raised.grads(|loss| Ok(loss.gradient(&x)?.map(|grad| tape.constant(grad)))).unwrap();
    let twice: Vec<f32> = f32s(x.tensor()).iter().map(|x| 2.0 * x).collect();
    assert_eq!(f32s(grads[0].tensor()), twice);
}

#[test]
fn a_loss_that_is_no_scalar_is_the_tapes_error() {
    let scaler = Scaler::new(Cpu, LossScale::dynamic()).unwrap();
    let loss = Tape::new(Cpu, &Region::bf16().off()).variable(tensor(&[3], 1));
    let failed = scaler.scale(&loss).unwrap().backward(Var::backward).map(drop);
    assert!(matches!(failed, Err(TapeError::NotScalar { .. })), "{failed:?}");
}
