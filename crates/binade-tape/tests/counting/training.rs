//! Training behind a wrapper: the bits of the device, and nothing read before the host says so.

use super::run::{Outcome, Run, Trains, bits, tensor};
use binade_conformance::counting::Counting;
use binade_core::{DType, Named};
use binade_cpu::Cpu;

const STEPS: u32 = 50;

/// Runs steps, every third of them a window, and returns the outcome of each.
fn run<D: Trains>(device: D, dtype: DType) -> (Run<D>, Vec<Outcome<D>>) {
    let mut run = Run::new(device, dtype);
    let outcomes = (0..STEPS)
        .map(|seed| if seed % 3 == 2 { run.window(seed) } else { run.step(seed) })
        .collect();
    (run, outcomes)
}

fn reports<D: Trains>(outcomes: Vec<Outcome<D>>) -> Vec<String> {
    outcomes.into_iter().map(|outcome| format!("{:?}", outcome.resolve().unwrap())).collect()
}

#[test]
fn a_run_with_overflows_gives_the_bits_of_the_cpu_and_reads_nothing() {
    for dtype in [DType::F16, DType::F32] {
        let (here, outcomes) = run(Cpu, dtype);
        let expected = reports(outcomes);
        let skipped = expected.iter().filter(|report| report.starts_with("Skipped")).count();
        assert!((2..40).contains(&skipped), "{skipped} skips: neither all nor none");

        let device = Counting::strict(Cpu);
        let (there, outcomes) = run(device.clone(), dtype);
        assert_eq!(device.reads(), 0, "{STEPS} steps");
        assert_eq!(reports(outcomes), expected);
        assert_eq!(device.reads(), u64::from(STEPS), "one for each outcome");
        assert_eq!(there.scaler.state().unwrap(), here.scaler.state().unwrap());
        assert_eq!(bits(&there.optimizer.params), bits(&here.optimizer.params));
        assert_eq!(there.optimizer.masters(), here.optimizer.masters());
    }
}

#[test]
fn an_outcome_left_unread_costs_no_read() {
    let device = Counting::new(Cpu);
    let mut run = Run::new(device.clone(), DType::F16);
    for seed in 0..20 {
        run.step(seed).ignore();
    }
    assert_eq!(device.reads(), 0);
    let state = run.scaler.state().unwrap();
    assert_eq!((state.updates, device.reads()), (20, 1));
}

/// Joins a parameter that gets no gradient, and takes a step.
fn joined<D: Trains>(device: D) -> Run<D> {
    let mut run = Run::new(device, DType::F16);
    let (late, config) = (tensor(&run.device, &[4], 9, DType::F32), run.optimizer.config().clone());
    run.optimizer.join(vec![Named::new("late", late)], config).unwrap();
    run.step(1).ignore();
    run
}

#[test]
fn a_join_gives_the_bits_of_the_cpu_and_reads_nothing() {
    let device = Counting::strict(Cpu);
    let (here, there) = (joined(Cpu), joined(device.clone()));
    assert_eq!(device.reads(), 0);
    assert!(there.optimizer.export_f32().is_err(), "nobody announced a read");
    let _window = device.window();
    assert_eq!(bits(&there.optimizer.params), bits(&here.optimizer.params));
    assert_eq!(there.optimizer.masters(), here.optimizer.masters());
    assert_eq!(there.optimizer.export_f32().unwrap().len(), 5);
}
