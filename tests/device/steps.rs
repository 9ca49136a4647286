//! Steps beyond the kit: configurations that change, states that others hold, and waiting.

use super::rule::warm_rmsprop;
use crate::support::{
    Compared, Result, assert_near, calm, coarse, exact, gpu, optimizer, own, set, step, there,
    values, vector,
};
use binade_core::ops::Download as _;
use binade_core::{DType, Error as _, ErrorKind, Named};
use binade_grad_scaler::{ClipGroup, LossScale, Norm, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    a_learning_rate_that_moves_steps_as_on_the_cpu,
    rules_of_two_kinds_move_their_groups_in_one_step,
    steps_read_nothing_until_they_are_resolved,
    who_holds_a_parameter_keeps_its_bits,
    more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu,
    a_rule_without_a_kernel_is_refused_by_name_and_nothing_has_changed,
];

/// Names and lengths of parameters.
pub(crate) const NAMES: [(&str, usize); 4] =
    [("weight", 261), ("bias", 37), ("norm", 23), ("none", 0)];

/// Parameters of calm values.
pub(crate) fn params(seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    NAMES.map(|(name, len)| (name, calm(seed, len, 1.0))).into()
}

/// Gradients that move them away from zero.
pub(crate) fn grads(seed: u64) -> Vec<(&'static str, Vec<f32>)> {
    NAMES.map(|(name, len)| (name, calm(seed, len, -0.5))).into()
}

fn a_learning_rate_that_moves_steps_as_on_the_cpu() -> Result {
    let start = NAMES.map(|(name, len)| (name, coarse(9, len)));
    let config = |lr: f64| OptimizerConfig::new(UpdateRule::Sgd(Sgd { lr, ..exact() }));
    let mut run = Compared::new(&gpu(), &start, DType::BF16, &config(0.5)?);
    for (seed, lr) in (0..).zip([0.25, 1.0, 0.0, 0.25, 0.5]) {
        run.gpu.set_config(config(lr)?)?;
        run.cpu.set_config(config(lr)?)?;
        run.step(DType::F32, &NAMES.map(|(name, len)| (name, coarse(seed, len))))?;
        run.assert_same(&format!("{lr}"))?;
    }
    Ok(())
}

fn rules_of_two_kinds_move_their_groups_in_one_step() -> Result {
    let config =
        OptimizerConfig::new(UpdateRule::adamw(1e-2))?.with_storage(DType::F16).keep(["norm"]);
    let config = config.with_group(["bias", "norm"], UpdateRule::sgd(0.5))?;
    let mut run = Compared::new(&gpu(), &params(1), DType::F32, &config);
    for seed in 2..6 {
        run.step(DType::F32, &grads(seed))?;
    }
    for (got, want) in values(&run.gpu)?.iter().zip(values(&run.cpu)?) {
        assert_near(got, &want, 2, "two rules");
    }
    Ok(())
}

fn steps_read_nothing_until_they_are_resolved() -> Result {
    let gpu = own();
    let config = OptimizerConfig::new(UpdateRule::adamw(1e-2))?;
    let mut run = optimizer(&gpu, &params(1), DType::BF16, config);
    let mut scaler = Scaler::new(gpu.clone(), LossScale::dynamic())?;
    let loss = vector(&gpu, &[1.0], DType::F32);
    let groups = [ClipGroup::new(["bias", "norm"], Norm::L2, 1e-3)];
    let before = gpu.counters();
    let mut last = None;
    for seed in 0..50 {
        let grads =
            grads(seed).into_iter().map(|(name, values)| (name, Some(values))).collect::<Vec<_>>();
        let grads = scaler.scale(&loss)?.backward(|_| Ok(set(&gpu, &grads, DType::BF16)))?;
        let grads = grads.unscale()?.clip_norm(0.5)?.clip_groups(&groups)?;
        let step = grads.step(&mut run)?;
        last = Some(scaler.update(step)?);
    }
    assert_eq!(gpu.counters().syncs, before.syncs);
    let step = last.ok_or("no step")?.resolve()?;
    assert_eq!(gpu.counters().syncs - before.syncs, 1);
    assert_eq!(step.report().scale.updates, 50);
    assert_eq!(there(&run, "bias")?.applied, 50 - step.report().scale.skipped);
    Ok(())
}

fn who_holds_a_parameter_keeps_its_bits() -> Result {
    let gpu = gpu();
    for dtype in [DType::BF16, DType::F16, DType::F32] {
        let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
        let start = [("a", calm(1, 261, 1.0)), ("b", calm(1, 23, 1.0))];
        let mut run = optimizer(&gpu, &start, dtype, config);
        let kept = run.params[0].value.clone();
        let slice = run.params[1].value.slice(3, 7)?;
        let before = [gpu.to_bits(&kept)?, gpu.to_bits(&slice)?];
        step(&gpu, &mut run, &[("a", calm(2, 261, 1.0)), ("b", calm(2, 23, 1.0))])?;
        assert_eq!([gpu.to_bits(&kept)?, gpu.to_bits(&slice)?], before);
        assert_ne!(gpu.to_bits(&run.params[0].value)?, before[0]);
    }
    // An f32 parameter is its own master: what the maker of the optimizer still holds is not stepped.
    let value = vector(&gpu, &[1.0, 2.0], DType::F32);
    let params = vec![Named::new("w", value.clone())];
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?;
    let mut run = MasterOptimizer::new(gpu.clone(), params, config)?;
    step(&gpu, &mut run, &[("w", vec![1.0, 1.0])])?;
    assert_eq!(gpu.download(&value)?, [1.0, 2.0]);
    assert_eq!(gpu.download(&run.params[0].value)?, [0.0, 1.0]);
    Ok(())
}

fn more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu() -> Result {
    let names: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
    let all = |seed: u64| -> Vec<(&str, Vec<f32>)> {
        names.iter().zip(seed..).map(|(name, seed)| (&**name, coarse(seed, 3))).collect()
    };
    let config = OptimizerConfig::new(UpdateRule::Sgd(exact()))?;
    let mut run = Compared::new(&gpu(), &all(1), DType::BF16, &config);
    // Every other parameter has a gradient, then all of them.
    run.step(DType::F32, &all(500).into_iter().step_by(2).collect::<Vec<_>>())?;
    run.step(DType::F32, &all(500))?;
    run.assert_same("300 parameters")
}

fn a_rule_without_a_kernel_is_refused_by_name_and_nothing_has_changed() -> Result {
    let gpu = gpu();
    let sgd = OptimizerConfig::new(UpdateRule::sgd(0.5))?;
    let rule = warm_rmsprop();
    let group = sgd.clone().with_group(["w"], rule)?;
    let params = || vec![Named::new("w", vector(&gpu, &[1.0, 2.0], DType::F32))];
    let mut run = MasterOptimizer::new(gpu.clone(), params(), sgd)?;
    for config in [OptimizerConfig::new(rule)?, group] {
        let new = MasterOptimizer::new(gpu.clone(), params(), config.clone()).map(drop);
        let more = vec![Named::new("v", vector(&gpu, &[3.0], DType::F32))];
        let refused = [new, run.set_config(config.clone()), run.join(more, config)];
        for error in refused.map(Result::unwrap_err) {
            let text = error.to_string();
            assert!(text.contains("the update rule `warm_rmsprop`"), "{text}");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
    step(&gpu, &mut run, &[("w", vec![1.0, 1.0])])?;
    assert_eq!(gpu.download(&run.params[0].value)?, [0.5, 1.5]);
    Ok(())
}
