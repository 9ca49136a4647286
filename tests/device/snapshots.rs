//! States that a checkpoint takes out of the device and puts back, against a run that was not interrupted.

use crate::{
    shared::counted::rules,
    support::{Compared, Gpu, Result, STORES, coarse, exact, gpu, noise, optimizer, step},
};
use binade_core::DType;
use binade_cpu::Cpu;
use binade_master_weights::{MasterOptimizer, OptimizerConfig, UpdateRule};

crate::tests![
    a_run_resumed_is_the_one_that_was_not_interrupted,
    a_snapshot_of_the_cpu_goes_on_here,
    a_snapshot_that_does_not_fit_changes_nothing,
];

const LENGTHS: [(&str, usize); 3] = [("a", 300), ("b", 5), ("c", 0)];

fn start(config: OptimizerConfig) -> MasterOptimizer<Gpu> {
    let params = LENGTHS.map(|(name, len)| (name, noise(7, len)));
    optimizer(&gpu(), &params, DType::F32, config.with_storage(DType::BF16).keep(["b"]))
}

fn turn(run: &mut MasterOptimizer<Gpu>, seed: u64) -> Result {
    let grads = LENGTHS.map(|(name, len)| (name, noise(seed, len)));
    step(&gpu(), run, &grads)
}

fn a_run_resumed_is_the_one_that_was_not_interrupted() -> Result {
    for (rule, store) in rules().into_iter().flat_map(|rule| STORES.map(|store| (rule, store))) {
        let config = OptimizerConfig::new(rule)?.with_store(store);
        let mut whole = start(config.clone());
        (0..2).try_for_each(|seed| turn(&mut whole, seed))?;
        let mut resumed = start(config);
        resumed.load(&whole.save()?)?;
        assert_eq!(resumed.save()?, whole.save()?, "{rule:?} {store:?}");
        for run in [&mut whole, &mut resumed] {
            (2..4).try_for_each(|seed| turn(run, seed))?;
        }
        assert_eq!(resumed.save()?, whole.save()?, "{rule:?} {store:?}");
    }
    Ok(())
}

fn a_snapshot_of_the_cpu_goes_on_here() -> Result {
    for store in STORES {
        let config = OptimizerConfig::new(UpdateRule::Sgd(exact()))?.with_store(store);
        let params = LENGTHS.map(|(name, len)| (name, coarse(7, len)));
        let mut cpu = optimizer(&Cpu, &params, DType::BF16, config.clone());
        let grads = LENGTHS.map(|(name, len)| (name, coarse(8, len)));
        step(&Cpu, &mut cpu, &grads)?;
        let mut gpu = optimizer(&gpu(), &params, DType::BF16, config);
        gpu.load(&cpu.save()?)?;
        let mut run = Compared { gpu, cpu };
        run.step(DType::F32, &grads)?;
        run.assert_same(&format!("{store:?}"))?;
    }
    Ok(())
}

fn a_snapshot_that_does_not_fit_changes_nothing() -> Result {
    let mut run = start(OptimizerConfig::new(UpdateRule::adamw(0.1))?);
    turn(&mut run, 1)?;
    let other = start(OptimizerConfig::new(UpdateRule::sgd(0.1))?);
    let before = run.save()?;
    let error = run.load(&other.save()?).err().ok_or("it was loaded")?;
    let expected = "the moment0 of `a`: found none, expected f32 [300]; ";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert_eq!(run.save()?, before);
    Ok(())
}
