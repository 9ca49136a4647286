//! Training on a device that runs late: the CPU's bits, and nothing read before the host says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_core::{DType, Handle, Named, NamedGrads, Optimizer as _};
use binade_cpu::Cpu;
use binade_deferred::Deferred;
use binade_grad_scaler::{GradScaler, ScaleState, Step};
use binade_master_weights::{MasterOptimizer, MasterStore, MasterWeights, Plan, UpdateRule};
use binade_ops::{Download, Fill, Mul, Sum, Upload};
use common::{Outcome, Run, Trains, bits};
use rayon::prelude::*;

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
        run.step(seed).ignore();
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
        run.step(seed).ignore();
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

const STORES: [MasterStore; 5] = [
    MasterStore::NoMaster,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 5 },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

/// Steps a parameter, joins another, and takes two steps of both.
fn joined<D>(device: &D, store: MasterStore) -> MasterOptimizer<D>
where
    D: MasterWeights<Params = Vec<Named<<D as Handle>::Tensor>>>
        + Upload
        + Clone
        + GradScaler<Grads: From<NamedGrads<<D as Handle>::Tensor>>>,
{
    let tensor = |seed: u16| {
        let values: Vec<f32> =
            (0..300).map(|i: u16| f32::from(i % 41) / 16.0 - f32::from(seed)).collect();
        device.upload(&values, &[300], DType::F32).unwrap()
    };
    let plan = Plan::new(UpdateRule::adamw(0.01)).unwrap();
    let plan = plan.with_store(store).with_storage(DType::BF16).with_lost_updates(true);
    let param = |name| Named::new(name, tensor(1));
    let mut optimizer =
        MasterOptimizer::new(device.clone(), vec![param("a")], plan.clone()).unwrap();
    for names in [&["a"][..], &["a", "b"], &["a", "b"]] {
        if names.len() == 2 && optimizer.params.len() == 1 {
            optimizer.join(vec![param("b")], plan.clone()).unwrap();
        }
        let grads: NamedGrads<D::Tensor> =
            names.iter().map(|name| Named::new(*name, Some(tensor(2)))).collect();
        let mut grads = D::Grads::from(grads);
        let scale = device.upload_state(ScaleState::from_exponent(0)).unwrap();
        let found = device.unscale(&mut grads, &scale).unwrap();
        optimizer.step(grads, &found).unwrap();
    }
    optimizer
}

#[test]
fn every_store_and_a_join_give_the_bits_of_the_cpu_and_read_nothing() {
    for store in STORES {
        let here = joined(&Cpu, store);
        let device = Deferred::strict();
        let there = joined(&device, store);
        assert_eq!(device.reads(), 0, "{store:?}");
        assert!(there.export_f32().is_err(), "nobody announced a read");
        let _window = device.window();
        let params = here.params.iter().map(|param| param.value.to_bits());
        assert_eq!(bits(&device, &there.params), params.collect::<Vec<_>>(), "{store:?}");
        let values = |exported: Vec<Named<Vec<f32>>>| -> Vec<Vec<u32>> {
            exported
                .into_iter()
                .map(|one| one.value.into_iter().map(f32::to_bits).collect())
                .collect()
        };
        let exported = values(there.export_f32().unwrap());
        assert_eq!(exported, values(here.export_f32().unwrap()), "{store:?}");
        let masters = device.host_masters(there.masters()).unwrap();
        assert_eq!(&masters, here.masters(), "{store:?}");
        assert_eq!(masters.get("b").unwrap().applied, 2);
        assert!(masters.lost_updates().unwrap().moved > 0, "{store:?}");
    }
}

#[test]
fn what_joins_by_a_name_that_is_there_is_refused_at_once() {
    let device = Deferred::strict();
    let mut optimizer = joined(&device, MasterStore::Kahan);
    let twin = device.upload(&[1.0], &[1], DType::F32).unwrap();
    let plan = optimizer.plan().clone();
    let error = optimizer.join(vec![Named::new("b", twin)], plan).unwrap_err();
    assert!(error.to_string().starts_with("`b` is in the optimizer already"), "{error}");
    assert_eq!((optimizer.params.len(), device.reads()), (2, 0));
}

#[test]
fn an_f16_parameter_under_remainder_is_refused_at_once() {
    let device = Deferred::strict();
    let param = device.upload(&[1.0], &[1], DType::F16).unwrap();
    let plan = Plan::new(UpdateRule::sgd(0.1)).unwrap().with_store(MasterStore::Remainder);
    let made = MasterOptimizer::new(device.clone(), vec![Named::new("w", param)], plan);
    let text = made.unwrap_err().to_string();
    assert!(text.starts_with("`w` is stored as f16, of which `MasterStore::Remainder`"), "{text}");
    assert_eq!(device.reads(), 0);
}
