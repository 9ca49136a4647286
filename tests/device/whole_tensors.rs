//! Rules that step by norms of whole tensors, against the CPU. Norms are sums in another order than the CPU's. On CUDA they round to its
//! `f32` on the data of these tests, so that all else has its bits too.

use super::whole::whole_rules;
use crate::support::{
    Compared, Device, Gpu, Result, STORES, gpu, here, noise, optimizer, own, set, step, step_with,
    there, told,
};
use binade_core::{DType, Optimizer as _};
use binade_cpu::Cpu;
use binade_grad_scaler::{BadMicroBatch, LossScale, Norm, ScaleState, Scaler};
use binade_master_weights::{Lamb, MasterOptimizer, MasterStore, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    a_step_opens_masters_of_every_store_before_it_measures_them,
    tensors_of_several_chunks_have_the_cpus_norms,
    more_tensors_than_a_block_joins_at_once_have_their_own_norms,
    a_group_is_clipped_by_the_norm_of_all_gradients,
    gradients_that_were_clipped_before_are_not_clipped_again_by_the_norm_that_they_had,
    a_skipped_step_changes_nothing,
    a_gradient_that_only_a_dropped_micro_batch_had_moves_nothing,
    a_run_resumed_is_the_one_that_was_not_interrupted,
    a_snapshot_of_the_cpu_goes_on_here,
    steps_read_nothing,
];

const SET: [(&str, usize); 5] = [("a", 3075), ("b", 5), ("c", 0), ("d", 300), ("zero", 3)];

/// Parameters of which one is zero, so that no norm scales it.
fn start() -> Vec<(&'static str, Vec<f32>)> {
    SET.map(|(name, len)| match name {
        "zero" => (name, vec![0.0; len]),
        _ => (name, noise(len as u64, len)),
    })
    .into()
}

/// Returns a mode of each rule, and `NovoGrad` by the largest gradient.
fn rules() -> [UpdateRule; 4] {
    let [lamb, _, novograd, by_largest, larc, ..] = whole_rules();
    [lamb, novograd, larc, by_largest]
}

/// Gradients of all sizes. Those of one parameter are zero in the first step.
fn grads(number: u64) -> Vec<(&'static str, Vec<f32>)> {
    let sized = |(index, x): (usize, f32)| x * [1.0, 1e-2, 1e-4, 1e-6, 0.0][index % 5];
    let one = |(name, len): (&'static str, usize)| {
        let values = noise(number + len as u64, len).into_iter().enumerate().map(sized).collect();
        (name, if number == 0 && name == "d" { vec![0.0; len] } else { values })
    };
    SET.map(one).into()
}

fn a_step_opens_masters_of_every_store_before_it_measures_them() -> Result {
    let [lamb, ..] = rules();
    let stores =
        STORES.into_iter().flat_map(|store| [DType::BF16, DType::F16].map(|low| (store, low)));
    for (store, low) in stores.filter(|(store, low)| store.takes(*low)) {
        let config = OptimizerConfig::new(lamb)?.with_store(store).with_storage(low);
        let config = config.with_lost_updates(store == MasterStore::ScaledF16);
        let mut run = Compared::new(&gpu(), &start(), DType::F32, &config);
        for (number, made) in (0..).zip([DType::F32, low]) {
            run.step(made, &grads(number))?;
            run.assert_agrees(&format!("{store:?} {low} {number}"))?;
        }
    }
    Ok(())
}

/// The largest gradient is in a part that is joined before the last.
fn tensors_of_several_chunks_have_the_cpus_norms() -> Result {
    let set = |seed: u64| {
        let mut set = [("a", 8192 * 9 + 5), ("b", 8192), ("c", 7)]
            .map(|(name, len)| (name, noise(seed, len)));
        set[0].1[3] = 4.0;
        set
    };
    for rule in rules() {
        let mut run = Compared::new(&gpu(), &set(1), DType::F16, &OptimizerConfig::new(rule)?);
        for seed in 2..4 {
            run.step(DType::F16, &set(seed))?;
            run.assert_agrees(&format!("{rule:?} {seed}"))?;
        }
    }
    Ok(())
}

/// Without an epsilon, the update of an element that is not there would be NaN.
fn more_tensors_than_a_block_joins_at_once_have_their_own_norms() -> Result {
    let names: Vec<String> = (0..70).map(|number| format!("w{number}")).collect();
    let set = |seed: u64| -> Vec<(&str, Vec<f32>)> {
        names.iter().zip(seed..).map(|(name, seed)| (&**name, noise(seed, 9))).collect()
    };
    let UpdateRule::Lamb(lamb) = clipping() else { unreachable!() };
    let without_eps = UpdateRule::Lamb(Lamb { eps: 0.0, ..lamb });
    for rule in rules().into_iter().chain([without_eps]) {
        let mut run = Compared::new(&gpu(), &set(1), DType::F32, &OptimizerConfig::new(rule)?);
        // Every other parameter has a gradient, then all of them.
        run.step(DType::F32, &set(100).into_iter().step_by(2).collect::<Vec<_>>())?;
        run.step(DType::F32, &set(100))?;
        run.assert_agrees(&format!("{rule:?}"))?;
    }
    Ok(())
}

/// Gradients of a micro-batch.
type Batch = Vec<(&'static str, Option<Vec<f32>>)>;

/// If the infinities of the absent `a` entered the norm, `d` would move otherwise than alone.
fn a_gradient_that_only_a_dropped_micro_batch_had_moves_nothing() -> Result {
    let gpu = own();
    let d = |value: f32| ("d", Some(vec![value; 300]));
    for rule in rules() {
        let config = OptimizerConfig::new(rule)?.with_storage(DType::F16);
        let fresh = || optimizer(&gpu, &start(), DType::F32, config.clone());
        let stepped = |batches: [Batch; 2]| -> Result<MasterOptimizer<Gpu>> {
            let mut run = fresh();
            let mut scaler = Scaler::new(gpu.clone(), LossScale::dynamic())?;
            let loss = crate::support::vector(&gpu, &[1.0], DType::F32);
            let mut window = scaler.accumulate(BadMicroBatch::Drop);
            for batch in batches {
                let grads = scaler.scale(&loss)?.backward(|_| Ok(set(&gpu, &batch, DType::F16)))?;
                window.add(grads.unscale()?)?;
            }
            let step = window.finish()?.ok_or("an empty window")?.step(&mut run)?;
            scaler.update(step)?.ignore();
            Ok(run)
        };
        let bad = vec![("a", Some(vec![f32::INFINITY; 3075])), d(1.0)];
        let [run, alone] =
            [[bad, vec![("a", None), d(2.0)]], [vec![d(f32::INFINITY)], vec![d(2.0)]]].map(stepped);
        let (run, alone, before) = (run?, alone?, fresh());
        assert_eq!(there(&run, "a")?, there(&before, "a")?, "{rule:?}");
        assert_ne!(there(&run, "d")?, there(&before, "d")?, "{rule:?}");
        assert_eq!(there(&run, "d")?, there(&alone, "d")?, "{rule:?}");
    }
    Ok(())
}

/// Returns LAMB that clips to a norm of 0.5.
fn clipping() -> UpdateRule {
    let UpdateRule::Lamb(lamb) = UpdateRule::lamb(0.01) else { unreachable!() };
    UpdateRule::Lamb(Lamb { max_grad_norm: 0.5, ..lamb })
}

fn a_group_is_clipped_by_the_norm_of_all_gradients() -> Result {
    let [_, novograd, lars, _] = rules();
    let sgd = UpdateRule::Sgd(Sgd {
        lr: 0.1,
        momentum: 0.9,
        dampening: 0.0,
        weight_decay: 0.0,
        nesterov: false,
    });
    let config = OptimizerConfig::new(clipping())?.with_storage(DType::BF16).keep(["b"]);
    let config =
        config.with_group(["a"], sgd)?.with_group(["b"], novograd)?.with_group(["zero"], lars)?;
    let mut run = Compared::new(&gpu(), &start(), DType::F32, &config);
    for number in 1..4 {
        run.step(DType::F16, &grads(number))?;
        run.assert_agrees(&format!("{number}"))?;
    }
    // Without the large gradients of the other groups, none is clipped.
    let alone = |run: &mut MasterOptimizer<Gpu>| -> Result<Vec<f32>> {
        step(&gpu(), run, &[("d", vec![0.01; 300])])?;
        Ok(there(run, "d")?.moments[0].clone())
    };
    let mut fresh = optimizer(&gpu(), &start(), DType::F32, config.clone());
    let unclipped = alone(&mut fresh)?;
    let mut fresh = optimizer(&gpu(), &start(), DType::F32, config);
    step(&gpu(), &mut fresh, &[("d", vec![0.01; 300]), ("a", vec![1.0; 3075])])?;
    assert!(there(&fresh, "d")?.moments[0][0] < unclipped[0] / 50.0);
    Ok(())
}

/// Steps with gradients of a norm of 10, which is clipped to `most` first.
fn clipped_step<D: Device>(device: &D, run: &mut MasterOptimizer<D>, most: f32) -> Result {
    let scale = device.upload_state(ScaleState::from_exponent(0)).map_err(told)?;
    let mut grads = set(device, &[("d", Some(vec![10.0 / 300.0_f32.sqrt(); 300]))], DType::F32);
    let mut found = device.unscale(&mut grads, &scale).map_err(told)?;
    device.clip_norm(&mut grads, Norm::L2, most, &mut found).map_err(told)?;
    Ok(run.step(grads, &found).map_err(told)?)
}

fn gradients_that_were_clipped_before_are_not_clipped_again_by_the_norm_that_they_had() -> Result {
    let config = OptimizerConfig::new(clipping())?;
    // The rule clips to 0.5: the first is not clipped again, and the second is.
    for most in [0.25, 2.0] {
        let mut run = Compared::new(&gpu(), &start(), DType::F32, &config);
        clipped_step(&gpu(), &mut run.gpu, most)?;
        clipped_step(&Cpu, &mut run.cpu, most)?;
        let [got, want] =
            [there(&run.gpu, "d")?, here(run.cpu.masters(), "d")].map(|kept| kept.moments[0][0]);
        assert!((got - want).abs() <= 1e-5 * want.abs(), "{most}: {got} for {want}");
    }
    Ok(())
}

fn a_skipped_step_changes_nothing() -> Result {
    let gpu = gpu();
    for rule in rules().into_iter().chain([clipping()]) {
        let config = OptimizerConfig::new(rule)?.with_storage(DType::F16);
        let mut run = optimizer(&gpu, &start(), DType::F32, config);
        for bad in [false, true] {
            let before = run.save()?;
            let mut grads: Vec<_> = grads(3).into_iter().map(|(name, x)| (name, Some(x))).collect();
            if let (true, Some(values)) = (bad, &mut grads[0].1) {
                values[3074] = f32::INFINITY;
            }
            step_with(&gpu, &mut run, set(&gpu, &grads, DType::F32), 0)?;
            assert_eq!(run.save()? == before, bad, "{rule:?}");
        }
    }
    Ok(())
}

fn a_run_resumed_is_the_one_that_was_not_interrupted() -> Result {
    let start = |config: &OptimizerConfig| optimizer(&gpu(), &start(), DType::F32, config.clone());
    for (rule, store) in rules()
        .map(|rule| [MasterStore::Copy, MasterStore::ScaledF16].map(|store| (rule, store)))
        .concat()
    {
        let config = OptimizerConfig::new(rule)?.with_store(store).with_storage(DType::BF16);
        let mut whole = start(&config);
        (0..2).try_for_each(|seed| step(&gpu(), &mut whole, &grads(seed)))?;
        let mut resumed = start(&config);
        resumed.load(&whole.save()?)?;
        assert_eq!(resumed.save()?, whole.save()?, "{rule:?} {store:?}");
        for run in [&mut whole, &mut resumed] {
            (2..4).try_for_each(|seed| step(&gpu(), run, &grads(seed)))?;
        }
        assert_eq!(resumed.save()?, whole.save()?, "{rule:?} {store:?}");
    }
    Ok(())
}

fn a_snapshot_of_the_cpu_goes_on_here() -> Result {
    for rule in rules() {
        let config = OptimizerConfig::new(rule)?.with_storage(DType::F16);
        let mut run = Compared::new(&gpu(), &start(), DType::F32, &config);
        step(&Cpu, &mut run.cpu, &grads(5))?;
        run.gpu.load(&run.cpu.save()?)?;
        run.step(DType::F32, &grads(6))?;
        run.assert_agrees(&format!("{rule:?}"))?;
    }
    Ok(())
}

fn steps_read_nothing() -> Result {
    let gpu = own();
    for rule in rules().into_iter().chain([clipping()]) {
        let config = OptimizerConfig::new(rule)?.with_storage(DType::F16);
        let mut run = optimizer(&gpu, &start(), DType::F32, config);
        let mut scaler = Scaler::new(gpu.clone(), LossScale::dynamic())?;
        let loss = crate::support::vector(&gpu, &[1.0], DType::F32);
        let before = gpu.counters();
        for number in 0..5 {
            let grads: Vec<_> =
                grads(number).into_iter().map(|(name, x)| (name, Some(x))).collect();
            let made = scaler.scale(&loss)?.backward(|_| Ok(set(&gpu, &grads, DType::BF16)))?;
            let step = made.unscale()?.step(&mut run)?;
            scaler.update(step)?.ignore();
        }
        assert_eq!(gpu.counters().syncs, before.syncs, "{rule:?}");
    }
    Ok(())
}
