//! Windows that are unscaled at the end: bit for bit, and unread.

use super::run::{Outcome, Run, Trains};
use binade_conformance::counting::Counting;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, ScaleState};
use binade_ops::Download;
use binade_tape::Var;

fn weights<D: Trains + Download>(run: &Run<D>) -> Vec<Vec<f32>> {
    run.optimizer.params.iter().map(|p| run.device.download(&p.value).unwrap()).collect()
}

/// Takes one step of two micro-batches: unscaled one by one, or the sum of both.
fn stepped<D: Trains + Download>(run: &mut Run<D>, delayed: bool) -> Outcome<D> {
    run.scaler.set_state(ScaleState::from_exponent(8)).unwrap();
    let grads = if delayed {
        let mut window = run.scaler.sum_scaled();
        for seed in 0..2 {
            window.backward(&run.loss(seed).unwrap(), Var::backward).unwrap();
        }
        window.unscale().unwrap()
    } else {
        let mut window = run.scaler.accumulate(BadMicroBatch::SkipWindow);
        for seed in 0..2 {
            let scaled = run.scaler.scale(&run.loss(seed).unwrap()).unwrap();
            window.add(scaled.backward(Var::backward).unwrap().unscale().unwrap()).unwrap();
        }
        window.finish().unwrap()
    };
    let step = grads.expect("two").step(&mut run.optimizer).unwrap();
    run.scaler.update(step).unwrap()
}

#[test]
fn a_sum_that_is_unscaled_once_moves_weights_as_one_unscaled_part_by_part() {
    let [apart, together] = [false, true].map(|delayed| {
        let mut run = Run::new(Cpu, DType::F16);
        assert!(stepped(&mut run, delayed).resolve().unwrap().is_applied());
        weights(&run)
    });
    assert_eq!(apart, together);
    let device = Counting::strict(Cpu);
    let mut run = Run::new(device.clone(), DType::F16);
    stepped(&mut run, true).ignore();
    assert_eq!(device.reads(), 0);
    let _window = device.window();
    assert_eq!(weights(&run), together);
}
