//! Runs with overflows, and sets of many parameters, against the CPU.

use crate::{
    shared::steps::{grads, params},
    support::{
        Device, Result, assert_near, coarse, exact, optimizer, set, step, there, told, values,
        vector, wgpu,
    },
};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, ScaleState, ScaledGrads, Scaler};
use binade_master_weights::{OptimizerConfig, UpdateRule};

crate::tests![
    what_joins_steps_beside_the_others,
    clipped_runs_with_overflows_apply_and_skip_what_the_cpu_does,
    more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu,
];

fn clipped_runs_with_overflows_apply_and_skip_what_the_cpu_does() -> Result {
    let (got, want) = (trained(&wgpu())?, trained(&Cpu)?);
    assert_eq!(got.1, want.1);
    assert_eq!(got.1.last().map(|state| state.skipped), Some(2));
    for (got, want) in got.0.iter().zip(&want.0) {
        // These are ten steps, with a clip factor of which the last bit may differ.
        assert_near(got, want, 8, "clipped");
    }
    Ok(())
}

/// The master values after twelve clipped steps, one in five of which has an overflow, and the scale after each.
fn trained<D: Device>(device: &D) -> Result<(Vec<Vec<f32>>, Vec<ScaleState>)> {
    let plan = OptimizerConfig::new(UpdateRule::sgd(0.1))?;
    let mut run = optimizer(device, &params(1), DType::F16, plan);
    let rule = LossScale::dynamic().with_growth_interval(3)?;
    let mut scaler = Scaler::new(device.clone(), rule).map_err(told)?;
    let loss = vector(device, &[1.0], DType::F32);
    let mut states = Vec::new();
    for number in 0..12 {
        let mut one = grads(number);
        if number % 5 == 3 {
            one[0].1[200] = f32::INFINITY;
        }
        let one = one.into_iter().map(|(name, values)| (name, Some(values))).collect::<Vec<_>>();
        let grads = scaler.scale(&loss).map_err(told)?;
        let grads = grads.backward(|_| Ok(set(device, &one, DType::F32)));
        let grads = grads.and_then(ScaledGrads::unscale).map_err(told)?;
        let grads = grads.clip_norm(0.5).map_err(told)?;
        let step = grads.step(&mut run).map_err(told)?;
        let outcome = scaler.update(step).map_err(told)?;
        states.push(outcome.resolve().map_err(told)?.report().scale);
    }
    Ok((values(&run)?, states))
}

fn more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu() -> Result {
    let wgpu = wgpu();
    let names: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
    let all = |seed: u64| {
        let one = |(name, more): (&String, u64)| (name.clone(), coarse(seed + more, 3));
        names.iter().zip(0..).map(one).collect::<Vec<_>>()
    };
    let (start, grads) = (all(1), all(500));
    let start: Vec<_> = start.iter().map(|(name, values)| (&**name, values.clone())).collect();
    let plan = OptimizerConfig::new(UpdateRule::Sgd(exact()))?;
    let mut got = optimizer(&wgpu, &start, DType::BF16, plan.clone());
    let mut want = optimizer(&Cpu, &start, DType::BF16, plan);
    // Every other parameter has a gradient.
    let turn: Vec<_> = grads.iter().step_by(2).collect();
    let turn: Vec<_> = turn.iter().map(|(name, values)| (&**name, values.clone())).collect();
    step(&wgpu, &mut got, &turn)?;
    step(&Cpu, &mut want, &turn)?;
    let whole: Vec<_> = grads.iter().map(|(name, values)| (&**name, values.clone())).collect();
    step(&wgpu, &mut got, &whole)?;
    step(&Cpu, &mut want, &whole)?;
    assert_eq!(got.save()?, want.save()?);
    Ok(())
}

fn what_joins_steps_beside_the_others() -> Result {
    let wgpu = wgpu();
    let plan = OptimizerConfig::new(UpdateRule::Sgd(exact()))?;
    let mut got = optimizer(&wgpu, &[("a", coarse(1, 40))], DType::BF16, plan.clone());
    let mut want = optimizer(&Cpu, &[("a", coarse(1, 40))], DType::BF16, plan.clone());
    let first = [("a", coarse(2, 40))];
    step(&wgpu, &mut got, &first)?;
    step(&Cpu, &mut want, &first)?;
    got.join(vec![Named::new("b", vector(&wgpu, &coarse(3, 5), DType::F16))], plan.clone())?;
    want.join(vec![Named::new("b", vector(&Cpu, &coarse(3, 5), DType::F16))], plan)?;
    let both = [("a", coarse(4, 40)), ("b", coarse(5, 5))];
    step(&wgpu, &mut got, &both)?;
    step(&Cpu, &mut want, &both)?;
    assert_eq!(got.save()?, want.save()?);
    assert_eq!([there(&got, "a")?.applied, there(&got, "b")?.applied], [2, 1]);
    Ok(())
}
