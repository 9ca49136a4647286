//! Training on a device that runs late: the CPU's bits, and nothing read before the host says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_core::DType;
use binade_cpu::Cpu;
use binade_deferred::Deferred;
use binade_grad_scaler::Step;
use binade_ops::{Download, Fill, Mul, Sum};
use common::{Outcome, Run, Trains, bits};
use rayon::prelude::*;

const STEPS: u32 = 50;

/// A run of steps, every third of them a window, and what became of each.
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

        let device = Deferred::strict();
        let (there, outcomes) = run(device.clone(), dtype);
        assert_eq!(device.reads(), 0, "{STEPS} steps");
        assert!(device.waiting() > 0);
        assert_eq!(reports(outcomes), expected);
        assert_eq!(device.reads(), u64::from(STEPS), "one for each outcome");
        assert_eq!(there.scaler.state().unwrap(), here.scaler.state().unwrap());
        let _window = device.window();
        let params = here.optimizer.params.iter().map(|param| param.value.to_bits());
        assert_eq!(bits(&device, &there.optimizer.params), params.collect::<Vec<_>>());
        let masters = device.host_masters(there.optimizer.masters()).unwrap();
        assert_eq!(&masters, here.optimizer.masters());
    }
}

#[test]
fn an_outcome_left_unread_costs_no_read() {
    let device = Deferred::new();
    let mut run = Run::new(device.clone(), DType::F16);
    for seed in 0..20 {
        run.step(seed).leave_unread();
    }
    assert_eq!(device.reads(), 0);
    let state = run.scaler.state().unwrap();
    assert_eq!((state.updates, device.reads()), (20, 1));
}

#[test]
fn an_outcome_is_not_ready_while_its_step_waits() {
    let device = Deferred::new();
    let mut run = Run::new(device.clone(), DType::F32);
    let waiting = run.step(0).try_resolve().unwrap().expect_err("nothing has run");
    device.run();
    assert_eq!(device.reads(), 0, "a device works without being looked at");
    let step: Step = waiting.try_resolve().unwrap().expect("all has run");
    assert_eq!((step.report().scale.updates, device.reads()), (1, 1));
}

#[test]
fn a_long_unread_run_waits_in_bounded_memory() {
    let device = Deferred::strict().with_limit(100);
    let mut run = Run::new(device.clone(), DType::F16);
    for seed in 0..1000 {
        run.step(seed).leave_unread();
        assert!(device.waiting() <= 100, "{} jobs", device.waiting());
    }
    assert_eq!(device.reads(), 0);
    assert_eq!(run.scaler.state().unwrap().updates, 1000);
}

#[test]
fn workers_may_queue_while_the_queue_runs() {
    let device = Deferred::new().with_limit(3);
    let ones = device.fill(1.0, &[1 << 16], DType::F32).unwrap();
    let sums: Vec<_> = (0..200)
        .into_par_iter()
        .map(|_| device.sum(&device.mul(&ones, &ones).unwrap()).unwrap())
        .collect();
    assert_eq!(device.reads(), 0);
    for sum in sums {
        assert_eq!(device.download(&sum).unwrap(), [65536.0]);
    }
}
