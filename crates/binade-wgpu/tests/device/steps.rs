//! Which steps are taken, by which rule, and what of a parameter ages: against the CPU.

use crate::{
    stepping::{
        NAMES, Trains, assert_near, calm, coarse, exact, grads, optimizer, params, rules, step,
        step_with, there, values,
    },
    support::{Result, own, set, vector, wgpu},
};
use binade_core::{DType, Named, Optimizer as _};
use binade_cpu::Cpu;
use binade_grad_scaler::{
    BadMicroBatch, GradScaler as _, LossScale, ScaleState, ScaleStore as _, ScaledGrads, Scaler,
};
use binade_master_weights::{MasterStore, Plan, SavedParameter, Sgd, UpdateRule};

crate::tests![
    a_learning_rate_that_moves_steps_as_on_the_cpu,
    rules_of_two_kinds_move_their_groups_in_one_step,
    a_skipped_step_keeps_every_bit_and_every_count,
    a_parameter_without_a_gradient_stays_and_does_not_age,
    a_step_without_gradients_is_an_error_unless_it_is_skipped,
    gradients_that_do_not_fit_are_refused_and_move_nothing,
    steps_read_nothing_until_they_are_resolved,
    clipped_runs_with_overflows_apply_and_skip_what_the_cpu_does,
    what_joins_steps_beside_the_others,
    more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu,
    of_a_window_the_device_knows_which_gradients_are_there,
];

fn some((name, values): (&str, Vec<f32>)) -> (&str, Option<Vec<f32>>) {
    (name, Some(values))
}

fn a_learning_rate_that_moves_steps_as_on_the_cpu() -> Result {
    let wgpu = wgpu();
    let start = NAMES.map(|(name, len)| (name, coarse(9, len)));
    let plan = |lr: f64| Plan::new(UpdateRule::Sgd(Sgd { lr, ..exact() }));
    let mut got = optimizer(&wgpu, &start, DType::BF16, plan(0.5)?);
    let mut want = optimizer(&Cpu, &start, DType::BF16, plan(0.5)?);
    for (seed, lr) in (0..).zip([0.25, 1.0, 0.0, 0.25, 0.5]) {
        got.set_plan(plan(lr)?)?;
        want.set_plan(plan(lr)?)?;
        let grads = NAMES.map(|(name, len)| (name, coarse(seed, len)));
        step(&wgpu, &mut got, &grads)?;
        step(&Cpu, &mut want, &grads)?;
        assert_eq!(got.save()?, want.save()?, "{lr}");
    }
    Ok(())
}

fn rules_of_two_kinds_move_their_groups_in_one_step() -> Result {
    let wgpu = wgpu();
    let plan = || {
        let plan = Plan::new(UpdateRule::adamw(1e-2))?.with_storage(DType::F16).keep(["norm"]);
        Ok::<_, crate::Failed>(plan.with_group(["bias", "norm"], UpdateRule::sgd(0.5))?)
    };
    let mut got = optimizer(&wgpu, &params(1), DType::F32, plan()?);
    let mut want = optimizer(&Cpu, &params(1), DType::F32, plan()?);
    for seed in 2..6 {
        step(&wgpu, &mut got, &grads(seed))?;
        step(&Cpu, &mut want, &grads(seed))?;
    }
    for (got, want) in values(&got)?.iter().zip(values(&want)?) {
        assert_near(got, &want, 2, "two rules");
    }
    Ok(())
}

fn a_skipped_step_keeps_every_bit_and_every_count() -> Result {
    let wgpu = wgpu();
    for rule in rules() {
        for store in [MasterStore::Copy, MasterStore::Kahan, MasterStore::Stochastic { seed: 3 }] {
            let plan = Plan::new(rule)?.with_store(store);
            let mut run = optimizer(&wgpu, &params(1), DType::BF16, plan);
            step(&wgpu, &mut run, &grads(2))?;
            let before = run.save()?;
            for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut spoilt = grads(3);
                spoilt[2].1[20] = bad;
                step(&wgpu, &mut run, &spoilt)?;
                assert_eq!(run.save()?, before, "{rule:?} {store:?} {bad}");
            }
            step(&wgpu, &mut run, &grads(4))?;
            assert_eq!(there(&run, "weight")?.applied, 2);
        }
    }
    Ok(())
}

fn a_parameter_without_a_gradient_stays_and_does_not_age() -> Result {
    let wgpu = wgpu();
    let some = |seed| Some(calm(seed, 9, -0.5));
    let start = [("a", calm(1, 9, 1.0)), ("b", calm(2, 9, 1.0))];
    let plan = || Plan::new(UpdateRule::adamw(1e-2));
    let mut got = optimizer(&wgpu, &start, DType::F32, plan()?);
    let mut want = optimizer(&Cpu, &start, DType::F32, plan()?);
    for (a, b) in [(None, some(3)), (None, some(4)), (some(5), some(6)), (some(7), None)] {
        let before = values(&got)?;
        let missing = [a.is_none(), b.is_none()];
        let turn = [("a", a), ("b", b)];
        step_with(&wgpu, &mut got, set(&wgpu, &turn, DType::F16), 0)?;
        step_with(&Cpu, &mut want, set(&Cpu, &turn, DType::F16), 0)?;
        for (place, (now, before)) in values(&got)?.iter().zip(&before).enumerate() {
            assert_eq!(now == before, missing[place]);
        }
    }
    for (got, want) in values(&got)?.iter().zip(values(&want)?) {
        assert_near(got, &want, 2, "missing");
    }
    assert_eq!([there(&got, "a")?.applied, there(&got, "b")?.applied], [2, 3]);
    Ok(())
}

fn a_step_without_gradients_is_an_error_unless_it_is_skipped() -> Result {
    let wgpu = wgpu();
    let plan = Plan::new(UpdateRule::sgd(0.5))?;
    let mut run = optimizer(&wgpu, &[("a", vec![1.0])], DType::F32, plan);
    let none = || set(&wgpu, &[("a", None)], DType::F32);
    let error = step_with(&wgpu, &mut run, none(), 0).unwrap_err();
    assert!(error.message().is_some_and(|text| text.contains("gradient")), "{error:?}");
    let before = run.save()?;
    let mut elsewhere = set(&wgpu, &[("b", Some(vec![f32::NAN]))], DType::F32);
    let scale = wgpu.upload_state(ScaleState::from_exponent(0))?;
    let found = wgpu.unscale(&mut elsewhere, &scale)?;
    run.step(none(), &found)?;
    assert_eq!(run.save()?, before);
    Ok(())
}

fn gradients_that_do_not_fit_are_refused_and_move_nothing() -> Result {
    let wgpu = wgpu();
    let plan = Plan::new(UpdateRule::sgd(0.5))?;
    let start = [("a", vec![1.0; 3]), ("b", vec![2.0; 3])];
    let mut run = optimizer(&wgpu, &start, DType::F32, plan);
    let before = run.save()?;
    let ones = |len: usize| Some(vec![1.0; len]);
    for wrong in [
        vec![("a", ones(3)), ("b", ones(4))],
        vec![("a", ones(3)), ("a", ones(3))],
        vec![("a", ones(3)), ("c", ones(3))],
    ] {
        assert!(step_with(&wgpu, &mut run, set(&wgpu, &wrong, DType::F32), 0).is_err());
        assert_eq!(run.save()?, before);
    }
    Ok(())
}

fn steps_read_nothing_until_they_are_resolved() -> Result {
    let wgpu = own();
    let plan = Plan::new(UpdateRule::adamw(1e-2))?;
    let mut run = optimizer(&wgpu, &params(1), DType::BF16, plan);
    let mut scaler = Scaler::new(wgpu.clone(), LossScale::dynamic())?;
    let loss = vector(&wgpu, &[1.0], DType::F32);
    let before = wgpu.ledger();
    let mut last = None;
    for seed in 0..50 {
        let grads = grads(seed).into_iter().map(some).collect::<Vec<_>>();
        let grads = scaler.scale(&loss)?.backward(|_| Ok(set(&wgpu, &grads, DType::BF16)))?;
        let step = grads.unscale()?.clip_norm(0.5)?.step(&mut run)?;
        last = Some(scaler.update(step)?);
    }
    assert_eq!(wgpu.ledger().syncs, before.syncs);
    let step = last.ok_or("no step")?.resolve()?;
    assert_eq!(wgpu.ledger().syncs - before.syncs, 1);
    assert_eq!(step.report().scale.updates, 50);
    assert_eq!(there(&run, "bias")?.applied, 50 - step.report().scale.skipped);
    Ok(())
}

fn clipped_runs_with_overflows_apply_and_skip_what_the_cpu_does() -> Result {
    let (got, want) = (trained(&wgpu())?, trained(&Cpu)?);
    assert_eq!(got.1, want.1);
    assert_eq!(got.1.last().map(|state| state.skipped), Some(2));
    for (got, want) in got.0.iter().zip(&want.0) {
        // Ten steps, and a clip factor of which the last bit may differ.
        assert_near(got, want, 8, "clipped");
    }
    Ok(())
}

/// The master values after twelve clipped steps, one in five of which has an overflow, and the scale after each.
fn trained<D: Trains>(device: &D) -> Result<(Vec<Vec<f32>>, Vec<ScaleState>)> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let plan = Plan::new(UpdateRule::sgd(0.1))?;
    let mut run = optimizer(device, &params(1), DType::F16, plan);
    let rule = LossScale::dynamic().with_growth_interval(3)?;
    let mut scaler = Scaler::new(device.clone(), rule).map_err(|error| told(&error))?;
    let loss = vector(device, &[1.0], DType::F32);
    let mut states = Vec::new();
    for number in 0..12 {
        let mut one = grads(number);
        if number % 5 == 3 {
            one[0].1[200] = f32::INFINITY;
        }
        let one = one.into_iter().map(some).collect::<Vec<_>>();
        let grads = scaler.scale(&loss).map_err(|error| told(&error))?;
        let grads = grads.backward(|_| Ok(set(device, &one, DType::F32)));
        let grads = grads.and_then(ScaledGrads::unscale).map_err(|error| told(&error))?;
        let grads = grads.clip_norm(0.5).map_err(|error| told(&error))?;
        let step = grads.step(&mut run).map_err(|error| told(&error))?;
        let outcome = scaler.update(step).map_err(|error| told(&error))?;
        states.push(outcome.resolve().map_err(|error| told(&error))?.report().scale);
    }
    Ok((values(&run)?, states))
}

fn what_joins_steps_beside_the_others() -> Result {
    let wgpu = wgpu();
    let plan = Plan::new(UpdateRule::Sgd(exact()))?;
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

fn more_parameters_than_a_group_or_a_batch_has_room_for_step_as_on_the_cpu() -> Result {
    let wgpu = wgpu();
    let names: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
    let all = |seed: u64| {
        let one = |(name, more): (&String, u64)| (name.clone(), coarse(seed + more, 3));
        names.iter().zip(0..).map(one).collect::<Vec<_>>()
    };
    let (start, grads) = (all(1), all(500));
    let start: Vec<_> = start.iter().map(|(name, values)| (&**name, values.clone())).collect();
    let plan = Plan::new(UpdateRule::Sgd(exact()))?;
    let mut got = optimizer(&wgpu, &start, DType::BF16, plan.clone());
    let mut want = optimizer(&Cpu, &start, DType::BF16, plan);
    // Every other has a gradient.
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

fn of_a_window_the_device_knows_which_gradients_are_there() -> Result {
    let (got, want) = (windowed(&wgpu())?, windowed(&Cpu)?);
    assert_eq!(got, want);
    assert_eq!(got.iter().map(|saved| saved.applied).collect::<Vec<_>>(), [1, 0]);
    Ok(())
}

/// What a window leaves whose one micro-batch with a gradient of `b` is bad, and dropped.
fn windowed<D: Trains>(device: &D) -> Result<Vec<SavedParameter>> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let start = [("a", coarse(1, 9)), ("b", coarse(2, 9))];
    let mut run = optimizer(device, &start, DType::F16, Plan::new(UpdateRule::Sgd(exact()))?);
    let mut scaler =
        Scaler::new(device.clone(), LossScale::dynamic()).map_err(|error| told(&error))?;
    let loss = vector(device, &[1.0], DType::F32);
    let mut window = scaler.accumulate(BadMicroBatch::Drop);
    for number in 0..3 {
        let bad = number == 1;
        let a = coarse(number + 3, 9).into_iter().map(|x| if bad { f32::NAN } else { x }).collect();
        let batch = [("a", Some(a)), ("b", bad.then(|| coarse(9, 9)))];
        let grads = scaler.scale(&loss).map_err(|error| told(&error))?;
        let grads = grads.backward(|_| Ok(set(device, &batch, DType::F32)));
        let grads = grads.and_then(ScaledGrads::unscale).map_err(|error| told(&error))?;
        window.add(grads).map_err(|error| told(&error))?;
    }
    let sum = window.finish().map_err(|error| told(&error))?.ok_or("an empty window")?;
    let step = sum.step(&mut run).map_err(|error| told(&error))?;
    let outcome = scaler.update(step).map_err(|error| told(&error))?;
    drop(outcome.resolve().map_err(|error| told(&error))?);
    Ok(run.save().map_err(|error| told(&error))?)
}
