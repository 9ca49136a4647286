//! Updates that are lost, counted on the device: which counts there are, and when.

use crate::support::{
    Device as _, Gpu, Result, STORES, gpu, noise, optimizer, own, step, there, vector,
};
use binade_core::{DType, Named};
use binade_master_weights::{
    Adagrad, Adam, Lion, LostUpdates, MasterOptimizer, MasterStore, OptimizerConfig, Sgd,
    UpdateRule,
};

crate::tests![
    counting_reads_nothing_and_changes_no_bit,
    a_skipped_step_counts_nothing_and_a_parameter_without_a_gradient_keeps_its_count,
    counting_is_switched_in_a_running_optimizer,
    what_joins_is_counted_beside_the_others,
    a_whole_set_of_lost_updates_is_counted_to_the_last,
];

/// Updates that were lost, and those that moved something.
pub(crate) fn total(run: &MasterOptimizer<Gpu>) -> Result<Option<[u64; 2]>> {
    let lost = run.masters().lost_updates(run.device())?;
    Ok(lost.map(|LostUpdates { lost, moved }| [lost, moved]))
}

fn a_skipped_step_counts_nothing_and_a_parameter_without_a_gradient_keeps_its_count() -> Result {
    let gpu = gpu();
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_store(MasterStore::NoMaster);
    let params = [("a", vec![1.0; 4]), ("b", vec![1.0; 2])];
    let mut run = optimizer(&gpu, &params, DType::BF16, config.with_lost_updates(true));
    step(&gpu, &mut run, &[("a", vec![1e-5, 1e-5, 0.0, 0.5]), ("b", vec![0.5, 0.5])])?;
    assert_eq!(total(&run)?, Some([2, 3]));
    step(&gpu, &mut run, &[("a", vec![f32::NAN; 4]), ("b", vec![1e-5, 1e-5])])?;
    assert_eq!(total(&run)?, Some([2, 3]));
    step(&gpu, &mut run, &[("b", vec![1e-5, 0.5])])?;
    assert_eq!(there(&run, "a")?.lost, Some(LostUpdates { lost: 2, moved: 1 }));
    assert_eq!(there(&run, "b")?.lost, Some(LostUpdates { lost: 1, moved: 1 }));
    Ok(())
}

fn counting_is_switched_in_a_running_optimizer() -> Result {
    let gpu = gpu();
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_store(MasterStore::NoMaster);
    let counted = config.clone().with_lost_updates(true);
    let mut run = optimizer(&gpu, &[("w", vec![1.0])], DType::BF16, config.clone());
    assert_eq!(there(&run, "w")?.lost, None);
    run.set_config(counted.clone())?;
    assert_eq!(total(&run)?, Some([0, 0]));
    step(&gpu, &mut run, &[("w", vec![1e-4])])?;
    run.set_config(counted.clone().with_lr(0.5)?)?;
    assert_eq!(total(&run)?, Some([1, 0]));
    run.set_config(config)?;
    assert_eq!(total(&run)?, None);
    run.set_config(counted)?;
    assert_eq!(total(&run)?, Some([0, 0]));
    assert_eq!(there(&run, "w")?.applied, 1);
    Ok(())
}

fn what_joins_is_counted_beside_the_others() -> Result {
    let gpu = gpu();
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_store(MasterStore::NoMaster);
    let counted = config.clone().with_lost_updates(true);
    let more = |name| vec![Named::new(name, vector(&gpu, &[1.0; 3], DType::BF16))];
    let mut run = optimizer(&gpu, &[("a", vec![1.0; 2])], DType::BF16, config.clone());
    run.join(more("b"), counted.clone())?;
    assert_eq!(total(&run)?, Some([0, 0]));
    step(&gpu, &mut run, &[("a", vec![1e-5, 0.5]), ("b", vec![1e-5; 3])])?;
    assert_eq!(total(&run)?, Some([4, 1]));
    run.join(more("c"), counted)?;
    assert_eq!(total(&run)?, Some([4, 1]));
    step(&gpu, &mut run, &[("c", vec![0.5; 3])])?;
    assert_eq!(total(&run)?, Some([4, 4]));
    run.join(more("d"), config)?;
    assert_eq!(total(&run)?, None);
    // Counts of the time before are not taken up again.
    let counted = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_store(MasterStore::NoMaster);
    run.join(more("e"), counted.with_lost_updates(true))?;
    assert_eq!(total(&run)?, Some([0, 0]));
    Ok(())
}

/// Many blocks, whose counts are added up.
fn a_whole_set_of_lost_updates_is_counted_to_the_last() -> Result {
    let gpu = gpu();
    let len = 5 * 4096 + 77;
    for rule in [UpdateRule::sgd(1.0), UpdateRule::adam(1e-6)] {
        let config =
            OptimizerConfig::new(rule)?.with_store(MasterStore::NoMaster).with_lost_updates(true);
        let mut run = optimizer(&gpu, &[("w", vec![1.0; len])], DType::BF16, config);
        step(&gpu, &mut run, &[("w", vec![1e-5; len])])?;
        assert_eq!(total(&run)?, Some([len as u64, 0]));
        assert_eq!(gpu.bits(&run.params[0].value), [0x80, 0x3f].repeat(len));
    }
    Ok(())
}

/// Every rule without decay and with its kinds of decay.
pub(crate) fn rules() -> Vec<UpdateRule> {
    let sgd = Sgd { lr: 1e-3, momentum: 0.0, dampening: 0.0, weight_decay: 0.0, nesterov: false };
    let momentum = Sgd { momentum: 0.9, ..sgd };
    let by_sgd = [sgd, momentum, Sgd { nesterov: true, ..momentum }];
    let adam = Adam {
        lr: 1e-3,
        betas: [0.9, 0.99],
        eps: 1e-8,
        weight_decay: 0.0,
        decoupled: false,
        amsgrad: false,
        sparse: false,
    };
    let decayed = Adam { weight_decay: 0.1, ..adam };
    let by_adam = [adam, Adam { decoupled: true, ..decayed }, Adam { amsgrad: true, ..decayed }];
    let by_sgd = by_sgd.into_iter().flat_map(|one| [one, Sgd { weight_decay: 0.01, ..one }]);
    let lion = Lion { lr: 1e-3, betas: [0.5, 0.9], weight_decay: 0.0 };
    let by_lion = [lion, Lion { weight_decay: 0.1, ..lion }];
    let (weight_decay, initial_accumulator_value) = (0.0, 0.1);
    let adagrad =
        Adagrad { lr: 1e-3, lr_decay: 0.5, weight_decay, initial_accumulator_value, eps: 1e-8 };
    let by_adagrad = [adagrad, Adagrad { weight_decay: 0.1, ..adagrad }].map(UpdateRule::Adagrad);
    let by_adam = by_adam.map(UpdateRule::Adam).into_iter().chain(by_lion.map(UpdateRule::Lion));
    by_sgd.map(UpdateRule::Sgd).chain(by_adam).chain(by_adagrad).collect()
}

fn counting_reads_nothing_and_changes_no_bit() -> Result {
    let gpu = own();
    let set = |seed, size| {
        [("a", 4103), ("b", 5), ("c", 0)].map(|(name, len)| {
            let sized = |(index, x): (usize, f32)| if index % 3 == 0 { x * size } else { x };
            (name, noise(seed, len).into_iter().enumerate().map(sized).collect::<Vec<f32>>())
        })
    };
    for (store, rule) in
        STORES.into_iter().flat_map(|store| rules().into_iter().map(move |rule| (store, rule)))
    {
        let config = OptimizerConfig::new(rule)?.with_store(store);
        let counted = config.clone().with_lost_updates(true);
        let mut counting = optimizer(&gpu, &set(1, 0.0), DType::BF16, counted);
        let mut other = optimizer(&gpu, &set(1, 0.0), DType::BF16, config);
        let before = gpu.counters().syncs;
        for seed in 2..5 {
            step(&gpu, &mut counting, &set(seed, 1e-6))?;
            step(&gpu, &mut other, &set(seed, 1e-6))?;
        }
        assert_eq!(gpu.counters().syncs, before, "{store:?}");
        assert_eq!(counting.save()?, other.save()?, "{store:?} {rule:?}");
        assert_eq!(total(&other)?, None);
    }
    Ok(())
}
