//! Training behind a wrapper: the bits of the device, and nothing read before the host says so.

use super::run::{Outcome, Run, Trains, bits};
use binade_conformance::counting::Counting;
use binade_core::{DType, Handle, Named, NamedGrads, Optimizer as _};
use binade_cpu::Cpu;
use binade_grad_scaler::{GradScaler, ScaleState};
use binade_master_weights::{
    MasterOptimizer, MasterStore, MasterWeights, OptimizerConfig, UpdateRule,
};
use binade_ops::Upload;

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
    let config = OptimizerConfig::new(UpdateRule::adamw(0.01)).unwrap();
    let config = config.with_store(store).with_storage(DType::BF16).with_lost_updates(true);
    let param = |name| Named::new(name, tensor(1));
    let mut optimizer =
        MasterOptimizer::new(device.clone(), vec![param("a")], config.clone()).unwrap();
    for names in [&["a"][..], &["a", "b"], &["a", "b"]] {
        if names.len() == 2 && optimizer.params.len() == 1 {
            optimizer.join(vec![param("b")], config.clone()).unwrap();
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
        let device = Counting::strict(Cpu);
        let there = joined(&device, store);
        assert_eq!(device.reads(), 0, "{store:?}");
        assert!(there.export_f32().is_err(), "nobody announced a read");
        let _window = device.window();
        assert_eq!(bits(&there.params), bits(&here.params), "{store:?}");
        let values = |exported: Vec<Named<Vec<f32>>>| -> Vec<Vec<u32>> {
            exported
                .into_iter()
                .map(|one| one.value.into_iter().map(f32::to_bits).collect())
                .collect()
        };
        let exported = values(there.export_f32().unwrap());
        assert_eq!(exported, values(here.export_f32().unwrap()), "{store:?}");
        assert_eq!(there.masters(), here.masters(), "{store:?}");
        assert_eq!(there.masters().get("b").unwrap().applied, 2);
    }
}
