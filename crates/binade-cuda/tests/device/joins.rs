//! Parameters that join a running optimizer, against the CPU and against a set that was whole from the start.

use crate::support::{Device, Result, STORES, cuda, kind, noise, optimizer, own, step, vector};
use binade_core::{DType, ErrorKind, Named};
use binade_cpu::Cpu;
use binade_master_weights::{Adam, MasterOptimizer, MasterStore, OptimizerConfig, Sgd, UpdateRule};

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

fn values(set: &[(&'static str, usize)], seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    let one = |(place, (name, len)): (usize, &(&'static str, usize))| {
        (*name, noise(seed + place as u64, *len))
    };
    set.iter().enumerate().map(one).collect()
}

/// Returns all five parameters.
fn both() -> Vec<(&'static str, usize)> {
    OLD.into_iter().chain(NEW).collect()
}

fn tensors<D: Device>(
    device: &D,
    set: &[(&'static str, usize)],
    dtype: DType,
) -> Vec<Named<D::Tensor>> {
    let values = values(set, 40).into_iter();
    values.map(|(name, values)| Named::new(name, vector(device, &values, dtype))).collect()
}

/// Runs steps of these numbers. Gradients of every fourth are not finite.
fn steps<D: Device>(
    device: &D,
    optimizer: &mut MasterOptimizer<D>,
    set: &[(&'static str, usize)],
    numbers: std::ops::Range<u64>,
) -> Result {
    for number in numbers {
        let mut grads = values(set, 100 * number);
        if number % 4 == 1 {
            grads[0].1[4] = f32::NAN;
        }
        step(device, optimizer, &grads)?;
    }
    Ok(())
}

/// Runs two applied steps of the old parameters, then three of all.
fn joined<D: Device>(
    device: &D,
    dtype: DType,
    plan: &OptimizerConfig,
) -> Result<MasterOptimizer<D>> {
    let old = values(&OLD, 20);
    let mut optimizer = optimizer(device, &old, dtype, plan.clone());
    steps(device, &mut optimizer, &OLD, 0..3)?;
    optimizer.join(tensors(device, &NEW, dtype), plan.clone()).map_err(|e| e.to_string())?;
    steps(device, &mut optimizer, &both(), 3..7)?;
    Ok(optimizer)
}

fn rules() -> [UpdateRule; 3] {
    let momentum =
        Sgd { lr: 0.1, momentum: 0.9, dampening: 0.1, weight_decay: 0.01, nesterov: false };
    let amsgrad = Adam {
        lr: 0.01,
        betas: [0.8, 0.9],
        eps: 1e-8,
        weight_decay: 0.1,
        decoupled: true,
        amsgrad: true,
    };
    [UpdateRule::sgd(0.1), UpdateRule::Sgd(momentum), UpdateRule::Adam(amsgrad)]
}

fn parameters_that_join_step_as_on_the_cpu_in_every_store() -> Result {
    let cuda = cuda();
    for (store, rule) in STORES.into_iter().flat_map(|store| rules().map(|rule| (store, rule))) {
        // A parameter that joins from f32 is lowered, and its masters keep the rest.
        for made in [DType::BF16, DType::F32] {
            let plan = OptimizerConfig::new(rule)?.with_store(store).with_storage(DType::BF16);
            let got = joined(&cuda, made, &plan)?;
            let want = joined(&Cpu, made, &plan)?;
            assert_eq!(got.save()?, want.save()?, "{rule:?} {store:?} {made}");
            assert_eq!(got.masters().bytes(), want.masters().bytes());
        }
    }
    Ok(())
}

fn what_joins_begins_at_its_own_count() -> Result {
    let cuda = cuda();
    let plan = OptimizerConfig::new(UpdateRule::adam(1e-2))?;
    let got = joined(&cuda, DType::F16, &plan)?;
    // One step in four is skipped: the second of the old parameters, and the sixth of all.
    assert_eq!(got.save()?.iter().map(|saved| saved.applied).collect::<Vec<_>>(), [5, 5, 3, 3, 3]);
    // Adam's first step is as long as its rate, whatever the gradient. Another parameter's correction would change that.
    let mut fresh = optimizer(&cuda, &values(&OLD, 20), DType::F32, plan.clone());
    steps(&cuda, &mut fresh, &OLD, 2..20)?;
    let one = || vec![Named::new("new", vector(&cuda, &[1.0; 9], DType::F32))];
    fresh.join(one(), plan)?;
    step(&cuda, &mut fresh, &[("new", vec![0.25; 9])])?;
    let moved = cuda.bits(&fresh.params[2].value);
    let (moved, _) = moved.as_chunks();
    let near = |bytes: &[u8; 4]| (f32::from_le_bytes(*bytes) - 0.99).abs() < 1e-6;
    assert!(moved.iter().all(near), "{moved:?}");
    Ok(())
}

fn a_join_reads_nothing_and_keeps_every_old_bit() -> Result {
    let cuda = own();
    for store in STORES {
        let plan = OptimizerConfig::new(rules()[2])?.with_store(store);
        let mut run = optimizer(&cuda, &values(&OLD, 20), DType::BF16, plan.clone());
        steps(&cuda, &mut run, &OLD, 0..3)?;
        let before = run.save()?;
        let syncs = cuda.counters().syncs;
        run.join(tensors(&cuda, &NEW, DType::BF16), plan)?;
        assert_eq!(cuda.counters().syncs, syncs, "{store:?}");
        assert_eq!(run.save()?[..2], before, "{store:?}");
        let syncs = cuda.counters().syncs;
        steps(&cuda, &mut run, &both(), 3..6)?;
        assert_eq!(cuda.counters().syncs, syncs, "{store:?}");
    }
    Ok(())
}

fn a_group_may_name_what_joins_and_storage_lowers_it() -> Result {
    let cuda = cuda();
    let stored = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_storage(DType::F16);
    let mut run = optimizer(&cuda, &[("a", vec![1.0])], DType::F32, stored.clone());
    let plan = stored.with_group(["b"], UpdateRule::sgd(0.5))?;
    let exact = 1.0 + 1e-4;
    run.join(vec![Named::new("b", vector(&cuda, &[exact], DType::F32))], plan.clone())?;
    assert_eq!(run.config(), &plan);
    assert_eq!(run.params[1].value.dtype(), DType::F16);
    assert_eq!(run.export_f32()?[1].value, [exact]);
    step(&cuda, &mut run, &[("a", vec![0.5]), ("b", vec![0.5])])?;
    let exported = run.export_f32()?;
    assert_eq!([exported[0].value[0], exported[1].value[0]], [0.5, exact - 0.25]);
    Ok(())
}

fn a_join_that_does_not_fit_is_refused_and_nothing_has_changed() -> Result {
    let cuda = cuda();
    let base = OptimizerConfig::new(UpdateRule::sgd(0.5))?;
    let [old, new] = [&OLD[..], &NEW[..]].map(|set| tensors(&cuda, set, DType::BF16));
    let typo = base.clone().with_group(["typo"], UpdateRule::sgd(0.1))?;
    let flags = vec![Named::new("c", cuda.from_bits(&[1], DType::U8, &[1])?)];
    let stranger = vec![Named::new("c", vector(&own(), &[1.0; 4], DType::BF16))];
    let refused = [
        (old, base.clone(), ErrorKind::Mismatch),
        ([&new[..1], &new[..1]].concat(), base.clone(), ErrorKind::Mismatch),
        (new.clone(), typo, ErrorKind::Mismatch),
        (new.clone(), base.clone().with_store(MasterStore::Kahan), ErrorKind::Mismatch),
        (new.clone(), OptimizerConfig::new(UpdateRule::adam(0.1))?, ErrorKind::Mismatch),
        (flags, base.clone(), ErrorKind::Unsupported),
        (stranger, base.clone(), ErrorKind::Mismatch),
    ];
    let mut run = optimizer(&cuda, &values(&OLD, 20), DType::BF16, base.clone());
    steps(&cuda, &mut run, &OLD, 0..3)?;
    let before = run.save()?;
    for (number, (more, plan, expected)) in refused.into_iter().enumerate() {
        assert_eq!(kind(run.join(more, plan)), expected, "{number}");
        assert_eq!((run.save()?, run.config()), (before.clone(), &base), "{number}");
    }
    run.join(new, base)?;
    steps(&cuda, &mut run, &both(), 3..4)
}

fn a_run_that_was_joined_is_resumed_as_it_was() -> Result {
    let cuda = cuda();
    for store in STORES {
        let plan = OptimizerConfig::new(rules()[2])?.with_store(store);
        let mut whole = joined(&cuda, DType::BF16, &plan)?;
        let saved = whole.save()?;
        assert_eq!(saved, joined(&Cpu, DType::BF16, &plan)?.save()?, "{store:?}");
        // Loaded into an optimizer that had all of them from the start, and into one that they have joined.
        let mut resumed = optimizer(&cuda, &values(&both(), 1), DType::BF16, plan.clone());
        resumed.load(&saved)?;
        let mut grown = optimizer(&cuda, &values(&OLD, 2), DType::BF16, plan.clone());
        grown.join(tensors(&cuda, &NEW, DType::BF16), plan)?;
        grown.load(&saved)?;
        for run in [&mut whole, &mut resumed, &mut grown] {
            steps(&cuda, run, &both(), 7..10)?;
        }
        let end = whole.save()?;
        assert_eq!(resumed.save()?, end, "{store:?}");
        assert_eq!(grown.save()?, end, "{store:?}");
    }
    Ok(())
}
