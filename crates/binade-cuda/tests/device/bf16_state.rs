//! State in bf16, against the CPU bit by bit: steps, memory, files, capture, and the rule that keeps `f32`.

use crate::{
    model::Model,
    shared::{support::Compared, whole::whole_rules},
    support::{
        Device, Grads, Result, STORES, captured, noise, optimizer, own, step_with, there, told,
    },
};
use binade_core::ops::SparseEmbedding;
use binade_core::{DType, Error as _, ErrorKind, Gradient, Named, SparseGrads};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_master_weights::{
    Adagrad, Adam, Lion, MasterOptimizer, MasterStore, Memory, OptimizerConfig, Sgd, UpdateRule,
};

crate::tests![
    every_rule_store_and_type_of_gradients_has_the_bits_of_the_cpu,
    rules_by_norms_of_tensors_have_the_bits_of_the_cpu,
    rows_of_a_table_have_the_bits_of_the_cpu,
    moments_take_half_the_memory_and_a_step_reads_nothing,
    a_file_goes_on_on_either_device_and_one_of_f32_state_is_refused,
    replays_are_the_uncaptured_steps,
    lamb_keeps_f32_by_name,
];

const FLOATS: [DType; 3] = [DType::BF16, DType::F16, DType::F32];

/// Beyond a block's groups by one, a part of a group, and nothing.
const LENGTHS: [(&str, usize); 3] = [("a", 2053), ("b", 5), ("c", 0)];

/// Returns a rule of each kind, with everything in it that moves a moment.
fn rules() -> [UpdateRule; 4] {
    let (lr, betas, weight_decay, eps) = (0.01, [0.9, 0.99], 0.1, 1e-8);
    let (decoupled, amsgrad, sparse) = (false, true, false);
    [
        UpdateRule::Sgd(Sgd { lr, momentum: 0.9, dampening: 0.1, weight_decay, nesterov: false }),
        UpdateRule::Adam(Adam { lr, betas, eps, weight_decay, decoupled, amsgrad, sparse }),
        UpdateRule::Lion(Lion { lr, betas, weight_decay }),
        // A first value that bf16 rounds.
        UpdateRule::Adagrad(Adagrad {
            lr,
            lr_decay: 0.5,
            weight_decay,
            initial_accumulator_value: 0.1,
            eps,
        }),
    ]
}

/// Returns each moment's name alone, and all of them where there are several.
fn choices(rule: &UpdateRule) -> Vec<Vec<&'static str>> {
    let names = rule.moment_names();
    let all = (names.len() > 1).then(|| names.to_vec());
    names.iter().map(|name| vec![*name]).chain(all).collect()
}

/// Returns a configuration of the rule with all of its state in bf16.
fn low(rule: UpdateRule) -> Result<OptimizerConfig> {
    Ok(OptimizerConfig::new(rule)?.with_bf16_state(rule.moment_names().iter().copied()))
}

fn vectors(seed: u64) -> [(&'static str, Vec<f32>); 3] {
    LENGTHS.map(|(name, len)| (name, noise(seed + len as u64, len)))
}

/// Takes two steps and one that is skipped, and compares all state after each.
fn compare(config: &OptimizerConfig, [param, grad]: [DType; 2]) -> Result {
    let what = format!("{config:?} {param} {grad}");
    let mut run = Compared::new(&own(), &vectors(1), param, config);
    run.assert_same(&what)?;
    for seed in [10, 20, 30] {
        let mut grads = vectors(seed);
        if seed == 20 {
            grads[0].1[7] = f32::INFINITY;
        }
        run.step(grad, &grads)?;
        run.assert_same(&what)?;
    }
    Ok(())
}

fn every_rule_store_and_type_of_gradients_has_the_bits_of_the_cpu() -> Result {
    for (rule, grad) in rules().into_iter().flat_map(|rule| FLOATS.map(|grad| (rule, grad))) {
        for names in choices(&rule) {
            let config = OptimizerConfig::new(rule)?.with_bf16_state(names);
            compare(&config, [DType::F32, grad])?;
            for store in STORES {
                for param in [DType::BF16, DType::F16].into_iter().filter(|low| store.takes(*low)) {
                    let counted = config.clone().with_lost_updates(param == grad);
                    compare(&counted.with_store(store), [param, grad])?;
                }
            }
        }
    }
    Ok(())
}

fn rules_by_norms_of_tensors_have_the_bits_of_the_cpu() -> Result {
    for rule in whole_rules().into_iter().filter(|rule| !matches!(rule, UpdateRule::Lamb(_))) {
        for store in [MasterStore::Copy, MasterStore::Kahan] {
            compare(&low(rule)?.with_store(store), [DType::BF16, DType::F32])?;
        }
    }
    Ok(())
}

/// Returns the saved state of a table after steps by sparse gradients, whose fourth row has two of them.
fn table<D>(device: &D, config: OptimizerConfig) -> Result<String>
where
    D: Device + SparseEmbedding,
    Grads<D>: From<SparseGrads<D::Tensor>>,
{
    let table = device.upload(&noise(1, 240), &[40, 6], DType::BF16).map_err(told)?;
    let params = vec![Named::new("table", table)];
    let mut run = MasterOptimizer::new(device.clone(), params, config).map_err(told)?;
    for seed in 2..5 {
        let looked = device.upload(&noise(seed, 24), &[4, 6], DType::F32).map_err(told)?;
        let indices = device.upload_i64(&[3, 1, 3, 7], &[4]).map_err(told)?;
        let rows = device.sparse_embedding_backward(&[(&looked, &indices)], 40).map_err(told)?;
        let grads = SparseGrads(vec![Named::new("table", Some(Gradient::Sparse(rows)))]);
        step_with(device, &mut run, grads.into(), 0)?;
    }
    Ok(format!("{:?}", run.save().map_err(told)?))
}

fn rows_of_a_table_have_the_bits_of_the_cpu() -> Result {
    for rule in [UpdateRule::sparse_adam(0.1), UpdateRule::adagrad(0.1)] {
        assert!(table(&own(), low(rule)?)? == table(&Cpu, low(rule)?)?, "{rule:?}");
        assert!(table(&own(), low(rule)?)? != table(&Cpu, OptimizerConfig::new(rule)?)?);
    }
    Ok(())
}

fn moments_take_half_the_memory_and_a_step_reads_nothing() -> Result {
    let len = 1 << 16;
    let used = |config: OptimizerConfig| -> Result<usize> {
        let gpu = own();
        let memory = Memory::of(&config, [("w", DType::F32, len as u64)]);
        let mut run = optimizer(&gpu, &[("w", vec![1.0; len])], DType::F32, config);
        assert_eq!(run.masters().bytes(), (memory.masters, memory.optimizer));
        let kept = gpu.memory_use().bytes;
        let params = [("w", Some(vec![0.5; len]))];
        let grads = crate::support::set(&gpu, &params, DType::F32);
        let before = gpu.counters().syncs;
        step_with(&gpu, &mut run, grads, 0)?;
        assert_eq!(gpu.counters().syncs, before);
        assert_eq!(there(&run, "w")?.applied, 1);
        Ok(kept)
    };
    let rule = UpdateRule::adamw(0.1);
    let wide = used(OptimizerConfig::new(rule)?)?;
    let one = used(OptimizerConfig::new(rule)?.with_bf16_state(["exp_avg"]))?;
    let both = used(low(rule)?)?;
    assert_eq!([wide - one, wide - both], [2 * len, 4 * len]);
    Ok(())
}

fn a_file_goes_on_on_either_device_and_one_of_f32_state_is_refused() -> Result {
    let rule = UpdateRule::adamw(0.1);
    let mut run = Compared::new(&own(), &vectors(1), DType::BF16, &low(rule)?);
    run.step(DType::F32, &vectors(10))?;
    assert_eq!(run.gpu.save()?, run.cpu.save()?);
    let mut other = Compared::new(&own(), &vectors(2), DType::BF16, &low(rule)?);
    other.gpu.load(&run.cpu.save()?)?;
    other.cpu.load(&run.gpu.save()?)?;
    for run in [&mut run, &mut other] {
        run.step(DType::F32, &vectors(20))?;
        run.assert_same("behind the file")?;
    }
    assert_eq!(other.gpu.save()?, run.gpu.save()?);

    let mut wide = Compared::new(&own(), &vectors(1), DType::BF16, &OptimizerConfig::new(rule)?);
    let files = [run.cpu.save()?, wide.cpu.save()?];
    for (to, file) in [&mut wide, &mut other].into_iter().zip(&files) {
        let before = to.gpu.save()?;
        let refused = to.gpu.load(file).map_err(told).unwrap_err();
        assert_eq!(refused, to.cpu.load(file).map_err(told).unwrap_err());
        assert!(refused.contains("moment0 of `a`: found"), "{refused}");
        assert_eq!(to.gpu.save()?, before);
    }
    Ok(())
}

fn replays_are_the_uncaptured_steps() -> Result {
    let config = low(UpdateRule::adamw(0.01))?;
    let model = |cuda: &Cuda| -> Result<Model> {
        let model = Model::new(cuda, config.clone(), DType::F16)?;
        model.write(0)?;
        Ok(model)
    };
    let (mut ordinary, mut replayed) = (model(&own())?, model(&own())?);
    let cuda = replayed.cuda.clone();
    let graph = captured(&cuda, || replayed.step())?;
    for _ in 0..3 {
        drop(graph.replay()?.resolve()?);
    }
    for _ in 0..5 {
        drop(ordinary.step()?.resolve()?);
    }
    let trace = replayed.trace()?;
    assert_eq!(trace, ordinary.trace()?);
    assert!(trace.contains("applied: 5"), "{trace}");
    Ok(())
}

fn lamb_keeps_f32_by_name() -> Result {
    let lamb = low(UpdateRule::lamb(0.01))?;
    let adam = low(UpdateRule::adam(0.01))?;
    let mut run = Compared::new(&own(), &vectors(1), DType::F32, &adam);
    let error = run.gpu.set_config(lamb).map_err(|error| (error.kind(), error.to_string()));
    let (kind, told) = error.unwrap_err();
    assert_eq!(kind, ErrorKind::Unsupported);
    assert!(told.contains("state of `lamb` in f32"), "{told}");
    run.step(DType::F32, &vectors(10))?;
    run.assert_same("after the refusal")
}
