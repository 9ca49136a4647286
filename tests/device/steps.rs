//! Steps beyond the kit: configurations that change, states that others hold, refusals that move nothing, and waiting.

use crate::support::{
    Result, assert_near, calm, coarse, exact, gpu, optimizer, own, set, step, step_with, there,
    values, vector,
};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, Scaler};
use binade_master_weights::{MasterOptimizer, OptimizerConfig, Sgd, UpdateRule};
use binade_ops::Download as _;

crate::tests![
    a_learning_rate_that_moves_steps_as_on_the_cpu,
    rules_of_two_kinds_move_their_groups_in_one_step,
    gradients_that_do_not_fit_are_refused_and_move_nothing,
    steps_read_nothing_until_they_are_resolved,
    who_holds_a_parameter_keeps_its_bits,
    more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu,
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
    let gpu = gpu();
    let start = NAMES.map(|(name, len)| (name, coarse(9, len)));
    let config = |lr: f64| OptimizerConfig::new(UpdateRule::Sgd(Sgd { lr, ..exact() }));
    let mut got = optimizer(&gpu, &start, DType::BF16, config(0.5)?);
    let mut want = optimizer(&Cpu, &start, DType::BF16, config(0.5)?);
    for (seed, lr) in (0..).zip([0.25, 1.0, 0.0, 0.25, 0.5]) {
        got.set_config(config(lr)?)?;
        want.set_config(config(lr)?)?;
        let grads = NAMES.map(|(name, len)| (name, coarse(seed, len)));
        step(&gpu, &mut got, &grads)?;
        step(&Cpu, &mut want, &grads)?;
        assert_eq!(got.save()?, want.save()?, "{lr}");
    }
    Ok(())
}

fn rules_of_two_kinds_move_their_groups_in_one_step() -> Result {
    let gpu = gpu();
    let config = || {
        let config =
            OptimizerConfig::new(UpdateRule::adamw(1e-2))?.with_storage(DType::F16).keep(["norm"]);
        Ok::<_, libtest_mimic::Failed>(config.with_group(["bias", "norm"], UpdateRule::sgd(0.5))?)
    };
    let mut got = optimizer(&gpu, &params(1), DType::F32, config()?);
    let mut want = optimizer(&Cpu, &params(1), DType::F32, config()?);
    for seed in 2..6 {
        step(&gpu, &mut got, &grads(seed))?;
        step(&Cpu, &mut want, &grads(seed))?;
    }
    for (got, want) in values(&got)?.iter().zip(values(&want)?) {
        assert_near(got, &want, 2, "two rules");
    }
    Ok(())
}

fn gradients_that_do_not_fit_are_refused_and_move_nothing() -> Result {
    let gpu = gpu();
    let config = OptimizerConfig::new(UpdateRule::sgd(0.5))?;
    let start = [("a", vec![1.0; 3]), ("b", vec![2.0; 3])];
    let mut run = optimizer(&gpu, &start, DType::F32, config);
    let before = run.save()?;
    let ones = |len: usize| Some(vec![1.0; len]);
    for wrong in [
        vec![("a", ones(3)), ("b", ones(4))],
        vec![("a", ones(3)), ("a", ones(3))],
        vec![("a", ones(3)), ("c", ones(3))],
    ] {
        let refused = step_with(&gpu, &mut run, set(&gpu, &wrong, DType::F32), 0).unwrap_err();
        let named = format!("`{}`: ", wrong[1].0);
        assert!(refused.message().is_some_and(|told| told.starts_with(&named)), "{refused:?}");
        assert_eq!(run.save()?, before);
    }
    Ok(())
}

fn steps_read_nothing_until_they_are_resolved() -> Result {
    let gpu = own();
    let config = OptimizerConfig::new(UpdateRule::adamw(1e-2))?;
    let mut run = optimizer(&gpu, &params(1), DType::BF16, config);
    let mut scaler = Scaler::new(gpu.clone(), LossScale::dynamic())?;
    let loss = vector(&gpu, &[1.0], DType::F32);
    let before = gpu.counters();
    let mut last = None;
    for seed in 0..50 {
        let grads =
            grads(seed).into_iter().map(|(name, values)| (name, Some(values))).collect::<Vec<_>>();
        let grads = scaler.scale(&loss)?.backward(|_| Ok(set(&gpu, &grads, DType::BF16)))?;
        let step = grads.unscale()?.clip_norm(0.5)?.step(&mut run)?;
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
    let gpu = gpu();
    let names: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
    let all = |seed: u64| {
        let one = |(name, more): (&String, u64)| (name.clone(), coarse(seed + more, 3));
        names.iter().zip(0..).map(one).collect::<Vec<_>>()
    };
    let (start, grads) = (all(1), all(500));
    let start: Vec<_> = start.iter().map(|(name, values)| (&**name, values.clone())).collect();
    let config = OptimizerConfig::new(UpdateRule::Sgd(exact()))?;
    let mut got = optimizer(&gpu, &start, DType::BF16, config.clone());
    let mut want = optimizer(&Cpu, &start, DType::BF16, config);
    // Every other parameter has a gradient.
    let turn: Vec<_> = grads.iter().step_by(2).collect();
    let turn: Vec<_> = turn.iter().map(|(name, values)| (&**name, values.clone())).collect();
    step(&gpu, &mut got, &turn)?;
    step(&Cpu, &mut want, &turn)?;
    let whole: Vec<_> = grads.iter().map(|(name, values)| (&**name, values.clone())).collect();
    step(&gpu, &mut got, &whole)?;
    step(&Cpu, &mut want, &whole)?;
    assert_eq!(got.save()?, want.save()?);
    Ok(())
}
