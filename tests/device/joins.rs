//! Parameters that join a running optimizer, against the CPU and against a set that was whole from the start.

use crate::support::{
    Device, Result, STORES, coarse, exact, gpu, kind, optimizer, own, step, told, vector,
};
use binade_core::{DType, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, MasterStore, OptimizerConfig, UpdateRule};
use std::ops::Range;

crate::tests![
    parameters_that_join_step_as_on_the_cpu_in_every_store,
    what_joins_begins_at_its_own_count,
    a_join_reads_nothing_and_keeps_every_old_bit,
    a_group_may_name_what_joins_and_storage_lowers_it,
    a_join_that_does_not_fit_is_refused_and_nothing_has_changed,
    a_run_that_was_joined_is_resumed_as_it_was,
];

const OLD: [(&str, usize); 2] = [("a", 4099), ("b", 5)];
const NEW: [(&str, usize); 3] = [("c", 33), ("d", 0), ("e", 300)];

/// Values of the first parameters of both lists together.
fn values(count: usize, seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    let all = OLD.into_iter().chain(NEW).take(count).zip(seed..);
    all.map(|((name, len), seed)| (name, coarse(seed, len))).collect()
}

/// Parameters that join.
fn new<D: Device>(device: &D, dtype: DType) -> Vec<Named<D::Tensor>> {
    let values = values(5, 40).split_off(OLD.len()).into_iter();
    values.map(|(name, values)| Named::new(name, vector(device, &values, dtype))).collect()
}

/// Runs steps of these numbers. Gradients of every fourth are not finite.
fn steps<D: Device>(run: &mut MasterOptimizer<D>, numbers: Range<u64>) -> Result {
    for number in numbers {
        let mut grads = values(run.params.len(), 100 * number);
        if number % 4 == 1 {
            grads[0].1[4] = f32::NAN;
        }
        let device = run.device().clone();
        step(&device, run, &grads)?;
    }
    Ok(())
}

fn config(store: MasterStore) -> Result<OptimizerConfig> {
    Ok(OptimizerConfig::new(UpdateRule::Sgd(exact()))?.with_store(store))
}

/// Runs one applied step of the old parameters and a skipped one, then one of all.
fn joined<D: Device>(
    device: &D,
    dtype: DType,
    config: &OptimizerConfig,
) -> Result<MasterOptimizer<D>> {
    let mut run = optimizer(device, &values(2, 20), dtype, config.clone());
    steps(&mut run, 0..2)?;
    run.join(new(device, dtype), config.clone()).map_err(told)?;
    steps(&mut run, 2..3)?;
    Ok(run)
}

fn parameters_that_join_step_as_on_the_cpu_in_every_store() -> Result {
    for store in STORES {
        // A parameter that joins from f32 is lowered, and its masters keep the rest.
        for made in [DType::BF16, DType::F32] {
            let config = config(store)?.with_storage(DType::BF16);
            let (got, want) = (joined(&gpu(), made, &config)?, joined(&Cpu, made, &config)?);
            assert_eq!(got.save()?, want.save()?, "{store:?} {made}");
            assert_eq!(got.masters().bytes(), want.masters().bytes());
        }
    }
    Ok(())
}

fn what_joins_begins_at_its_own_count() -> Result {
    let gpu = gpu();
    let config = OptimizerConfig::new(UpdateRule::adam(1e-2))?;
    let mut run = joined(&gpu, DType::F32, &config)?;
    steps(&mut run, 3..20)?;
    let applied: Vec<u64> = run.save()?.iter().map(|saved| saved.applied).collect();
    assert_eq!(applied, [15, 15, 14, 14, 14], "one step in four is skipped");
    // Adam's first step is as long as its rate, whatever the gradient. Another parameter's correction would change that.
    run.join(vec![Named::new("new", vector(&gpu, &[1.0; 9], DType::F32))], config)?;
    step(&gpu, &mut run, &[("new", vec![0.25; 9])])?;
    let moved = &run.export_f32()?[5].value;
    assert!(moved.iter().all(|x| (x - 0.99).abs() < 1e-6), "{moved:?}");
    Ok(())
}

fn a_join_reads_nothing_and_keeps_every_old_bit() -> Result {
    let gpu = own();
    for store in STORES {
        let mut run = optimizer(&gpu, &values(2, 20), DType::BF16, config(store)?);
        steps(&mut run, 0..2)?;
        let before = run.save()?;
        let more = new(&gpu, DType::BF16);
        let syncs = gpu.counters().syncs;
        run.join(more, config(store)?)?;
        assert_eq!(gpu.counters().syncs, syncs, "{store:?}");
        assert_eq!(run.save()?[..2], before, "{store:?}");
        let syncs = gpu.counters().syncs;
        steps(&mut run, 2..3)?;
        assert_eq!(gpu.counters().syncs, syncs, "{store:?}");
    }
    Ok(())
}

fn a_group_may_name_what_joins_and_storage_lowers_it() -> Result {
    let gpu = gpu();
    let stored = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_storage(DType::F16);
    let mut run = optimizer(&gpu, &[("a", vec![1.0])], DType::F32, stored.clone());
    let config = stored.with_group(["b"], UpdateRule::sgd(0.5))?;
    let exact = 1.0 + 1e-4;
    run.join(vec![Named::new("b", vector(&gpu, &[exact], DType::F32))], config.clone())?;
    assert_eq!(run.config(), &config);
    assert_eq!(run.params[1].value.dtype(), DType::F16);
    assert_eq!(run.export_f32()?[1].value, [exact]);
    step(&gpu, &mut run, &[("a", vec![0.5]), ("b", vec![0.5])])?;
    let exported = run.export_f32()?;
    assert_eq!([exported[0].value[0], exported[1].value[0]], [0.5, exact - 0.25]);
    Ok(())
}

fn a_join_that_does_not_fit_is_refused_and_nothing_has_changed() -> Result {
    let gpu = gpu();
    let (base, mismatch) = (config(MasterStore::Copy)?, ErrorKind::Mismatch);
    let new = new(&gpu, DType::BF16);
    let one = |name, values: &[f32]| vec![Named::new(name, vector(&gpu, values, DType::BF16))];
    let typo = base.clone().with_group(["typo"], UpdateRule::sgd(0.1))?;
    let flags = vec![Named::new("c", gpu.from_bits(&[1], DType::U8, &[1])?)];
    let stranger = vec![Named::new("c", vector(&own(), &[1.0; 4], DType::BF16))];
    let refused = [
        (one("a", &[1.0]), base.clone(), mismatch),
        ([&new[..1], &new[..1]].concat(), base.clone(), mismatch),
        (new.clone(), typo, mismatch),
        (new.clone(), config(MasterStore::Kahan)?, mismatch),
        (new.clone(), OptimizerConfig::new(UpdateRule::adam(0.1))?, mismatch),
        (flags, base.clone(), ErrorKind::Unsupported),
        (stranger, base.clone(), mismatch),
    ];
    let mut run = optimizer(&gpu, &values(2, 20), DType::BF16, base.clone());
    steps(&mut run, 0..2)?;
    let before = run.save()?;
    for (number, (more, config, expected)) in refused.into_iter().enumerate() {
        assert_eq!(kind(run.join(more, config)), expected, "{number}");
        assert_eq!((run.save()?, run.config()), (before.clone(), &base), "{number}");
    }
    run.join(new, base)?;
    steps(&mut run, 2..3)
}

fn a_run_that_was_joined_is_resumed_as_it_was() -> Result {
    let gpu = gpu();
    for store in STORES {
        let mut whole = joined(&gpu, DType::BF16, &config(store)?)?;
        let saved = whole.save()?;
        // Loaded into an optimizer that had all of them from the start, and into one that they have joined.
        let mut resumed = optimizer(&gpu, &values(5, 1), DType::BF16, config(store)?);
        resumed.load(&saved)?;
        let mut grown = optimizer(&gpu, &values(2, 2), DType::BF16, config(store)?);
        grown.join(new(&gpu, DType::BF16), config(store)?)?;
        grown.load(&saved)?;
        for run in [&mut whole, &mut resumed, &mut grown] {
            steps(run, 6..8)?;
        }
        let end = whole.save()?;
        assert_eq!((resumed.save()?, grown.save()?), (end.clone(), end), "{store:?}");
    }
    Ok(())
}
