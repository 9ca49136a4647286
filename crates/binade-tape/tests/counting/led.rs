//! Runs that follow a recording, and windows that are unscaled at the end: bit for bit, and unread.

use super::run::{Outcome, Run, Trains};
use binade_conformance::counting::Counting;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, ReplayScales, ScaleState, Trajectory};
use binade_ops::Download;
use binade_tape::Var;

/// Steps of a run whose f16 overflows at first, and then does not.
const STEPS: u32 = 12;

fn weights<D: Trains + Download>(run: &Run<D>) -> Vec<Vec<f32>> {
    run.optimizer.params.iter().map(|p| run.device.download(&p.value).unwrap()).collect()
}

/// Runs on the CPU; returns its recording, the steps that it skipped and its weights.
fn recorded() -> (Trajectory, Vec<bool>, Vec<Vec<f32>>) {
    let mut run = Run::new(Cpu, DType::F16);
    let mut trajectory = Trajectory::new(run.scaler.state().unwrap());
    let mut skips = Vec::new();
    for seed in 0..STEPS {
        let step = run.step(seed).resolve().unwrap();
        trajectory.record(&step).unwrap();
        skips.push(!step.is_applied());
    }
    assert!(skips.contains(&true) && skips.contains(&false), "{skips:?}");
    (trajectory, skips, weights(&run))
}

/// The outcomes of a run that follows, whose batches are others wherever the recording skipped.
fn led<D: Trains>(run: &mut Run<D>, follow: &mut ReplayScales, skips: &[bool]) -> Vec<Outcome<D>> {
    // A scale that no f16 survives, so that all of it comes from the recording.
    run.scaler.set_state(ScaleState::from_exponent(100)).unwrap();
    (0..STEPS)
        .zip(skips)
        .map(|(seed, is_skipped)| {
            follow.begin_step(&mut run.scaler).unwrap();
            run.step(if *is_skipped { seed + 100 } else { seed })
        })
        .collect()
}

#[test]
fn a_run_that_follows_a_recording_ends_at_its_bits_and_reads_nothing() {
    let (trajectory, skips, expected) = recorded();
    let device = Counting::strict(Cpu);
    let (mut run, mut follow) =
        (Run::new(device.clone(), DType::F16), ReplayScales::new(trajectory));
    let outcomes = led(&mut run, &mut follow, &skips);
    assert_eq!(device.reads(), 0);
    let _window = device.window();
    for outcome in outcomes {
        drop(follow.check(outcome.resolve().unwrap()).unwrap());
    }
    assert_eq!(weights(&run), expected);
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
