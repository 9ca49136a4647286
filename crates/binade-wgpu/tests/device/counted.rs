//! Lost updates: counts on the device against the CPU's.

use crate::{
    shared::counted::total,
    support::{Compared, Result, STORES, TYPES, coarse, optimizer, own, wgpu},
};
use binade_core::DType;
use binade_master_weights::{LostUpdates, MasterStore, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    counts_are_the_cpus_by_every_store_and_type,
    adams_decay_and_mean_count_as_on_the_cpu,
    a_parameters_state_is_read_by_as_many_waits_with_counts_as_without,
];

const SET: [(&str, usize); 2] = [("a", 700), ("b", 5)];

/// Gradients of all sizes, from those that move nothing to those that move everything, and zeros.
fn grads(seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    let sized =
        |(index, x): (usize, f32)| x * [1.0, 0.0, 2.0_f32.powi(-9), 2.0_f32.powi(-30)][index % 4];
    let one = |(name, len)| (name, coarse(seed, len).into_iter().enumerate().map(sized).collect());
    SET.map(one).into()
}

fn counts_are_the_cpus_by_every_store_and_type() -> Result {
    let descent =
        Sgd { lr: 0.5, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let momentum = Sgd { momentum: 0.5, ..descent };
    for rule in [descent, momentum, Sgd { nesterov: true, ..momentum }] {
        let mut seen = LostUpdates::default();
        let pairs = STORES.into_iter().flat_map(|store| TYPES.map(|low| (store, low)));
        for (store, low) in pairs.filter(|(store, low)| store.takes(*low)) {
            let config = OptimizerConfig::new(UpdateRule::Sgd(rule))?
                .with_store(store)
                .with_lost_updates(true);
            let start = SET.map(|(name, len)| (name, coarse(1, len)));
            let mut run = Compared::new(&wgpu(), &start, low, &config);
            for seed in 2..4 {
                run.step(DType::F32, &grads(seed))?;
                run.assert_same(&format!("{store:?} {low} {rule:?} {seed}"))?;
                seen += run.cpu.masters().lost_updates().ok_or("counts")?;
            }
        }
        assert!(seen.lost > 1000 && seen.moved > 1000, "{rule:?}: {seen:?}");
    }
    Ok(())
}

fn adams_decay_and_mean_count_as_on_the_cpu() -> Result {
    for (rule, want) in [
        // The mean is 0 and there is a decay: all but the zero have an update, which bf16 does not hold.
        (UpdateRule::adamw(1e-4), [2, 0]),
        (UpdateRule::adam(1e-6), [0, 0]),
        (UpdateRule::adam(0.5), [0, 0]),
    ] {
        let config =
            OptimizerConfig::new(rule)?.with_store(MasterStore::NoMaster).with_lost_updates(true);
        let start = [("w", vec![1.0, -3.0, 0.0])];
        let mut run = Compared::new(&wgpu(), &start, DType::BF16, &config);
        run.step(DType::F32, &[("w", vec![0.0; 3])])?;
        assert_eq!(total(&run.gpu)?, Some(want), "{rule:?}");
        run.assert_same_counts("zeros")?;
        run.step(DType::F32, &[("w", vec![1.0, 0.0, 1.0])])?;
        run.assert_same_counts("ones")?;
    }
    Ok(())
}

fn a_parameters_state_is_read_by_as_many_waits_with_counts_as_without() -> Result {
    let wgpu = own();
    let waits = |counts_lost| -> Result<u64> {
        let config = OptimizerConfig::new(UpdateRule::adam(0.1))?.with_lost_updates(counts_lost);
        let run = optimizer(&wgpu, &[("w", vec![1.0, 2.0])], DType::F16, config);
        let before = wgpu.counters().syncs;
        let read = run.masters().read(&wgpu, "w")?.ok_or("kept")?;
        assert_eq!(read.lost.is_some(), counts_lost);
        Ok(wgpu.counters().syncs - before)
    };
    assert_eq!(waits(true)?, waits(false)?);
    Ok(())
}
