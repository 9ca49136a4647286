//! Captured steps and their replays, against the same steps uncaptured, bit by bit.

use crate::{
    model::{Model, STEPS, Stepping, say},
    shared::whole::whole_rules,
    support::{Device, Result, captured, l2_norm, noise, own, vector, warmed},
};
use binade_core::DType;
use binade_cuda::Error;
use binade_grad_scaler::StepOutcome;
use binade_master_weights::{Adam, Lamb, MasterStore, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    replays_are_the_uncaptured_steps_bit_for_bit,
    replays_wait_for_nothing_and_each_outcome_is_its_own,
    captured_steps_of_one_scaler_and_ordinary_ones_take_turns,
    what_comes_behind_an_update_leaves_its_report_alone,
    a_step_of_more_tables_than_are_kept_is_captured,
    what_is_written_is_seen_by_clones_of_every_type,
    a_handle_works_while_another_is_captured,
];

/// Runs every step uncaptured, and returns each outcome and the final state.
pub(crate) fn uncaptured(
    config: fn(u64) -> OptimizerConfig,
    dtype: DType,
    step: Stepping,
) -> Result<(Vec<String>, String)> {
    let mut model = Model::new(&own(), config(0), dtype)?;
    let mut said = Vec::new();
    for number in 0..STEPS {
        model.optimizer.set_config(config(number))?;
        model.write(number)?;
        said.push(say(&step(&mut model)?.resolve()?));
    }
    Ok((said, model.trace()?))
}

/// Runs the same steps, all but the first two as replays.
fn replayed(
    config: fn(u64) -> OptimizerConfig,
    dtype: DType,
    step: Stepping,
) -> Result<(Vec<String>, String)> {
    let mut model = Model::new(&own(), config(0), dtype)?;
    let (captured, mut said) = model.captured(step)?;
    for number in 2..STEPS {
        if number == 4 {
            model.cuda.trim();
        }
        model.optimizer.set_config(config(number))?;
        model.write(number)?;
        said.push(say(&captured.replay()?.resolve()?));
    }
    Ok((said, model.trace()?))
}

/// Returns the learning rate of a schedule that is flat for the warm-ups.
#[expect(clippy::cast_precision_loss, reason = "a few steps")]
fn rate(number: u64) -> f64 {
    1e-2 / (1.0 + number.saturating_sub(1) as f64)
}

fn adam(number: u64) -> OptimizerConfig {
    let betas = if number < 8 { [0.9, 0.99] } else { [0.8, 0.98] };
    let rule = Adam { betas, amsgrad: number < u64::MAX, ..adamw(rate(number)) };
    OptimizerConfig::new(UpdateRule::Adam(rule)).unwrap()
}

fn adamw(lr: f64) -> Adam {
    let UpdateRule::Adam(adam) = UpdateRule::adamw(lr) else { panic!("AdamW is Adam") };
    adam
}

fn sgd(number: u64) -> OptimizerConfig {
    let lr = rate(number);
    let (momentum, dampening, weight_decay) = (0.9, 0.1, 0.01);
    let rule = Sgd { lr, momentum, dampening, weight_decay, nesterov: false };
    OptimizerConfig::new(UpdateRule::Sgd(rule)).unwrap()
}

fn with_store(number: u64, store: MasterStore) -> OptimizerConfig {
    OptimizerConfig::new(UpdateRule::adamw(rate(number))).unwrap().with_store(store)
}

/// Parameters are split into groups while steps are replayed.
fn split(number: u64) -> OptimizerConfig {
    let config = OptimizerConfig::new(UpdateRule::adamw(rate(number))).unwrap();
    if number < 4 {
        return config;
    }
    let groups = config.with_group(["bias"], UpdateRule::adamw(1e-3)).unwrap();
    groups.with_group(["norm"], UpdateRule::adamw(0.0)).unwrap()
}

/// Configuration of each step.
type Plan = fn(u64) -> OptimizerConfig;

/// Plans by name, and the types of parameters that each is tried with.
const PLANS: [(&str, Plan, &[DType]); 11] = [
    ("Adam", adam, &[DType::F16, DType::F32]),
    ("SGD", sgd, &[DType::F16, DType::F32]),
    (
        "stochastic",
        |n| with_store(n, MasterStore::Stochastic { seed: 9 }),
        &[DType::F16, DType::F32],
    ),
    ("groups", split, &[DType::F16]),
    ("remainder", |n| with_store(n, MasterStore::Remainder), &[DType::BF16]),
    ("Kahan", |n| with_store(n, MasterStore::Kahan), &[DType::BF16, DType::F16]),
    ("scaled", |n| with_store(n, MasterStore::ScaledF16), &[DType::F16]),
    ("counted", |n| adam(n).with_lost_updates(true), &[DType::F16]),
    ("LAMB", lamb, &[DType::F16, DType::F32]),
    ("NovoGrad", |n| whole(n, 2), &[DType::F16, DType::F32]),
    ("LARC", |n| whole(n, 4), &[DType::F16]),
];

/// Returns the plan of one of the rules that step by norms of whole tensors.
fn whole(number: u64, rule: usize) -> OptimizerConfig {
    OptimizerConfig::new(whole_rules()[rule].with_lr(rate(number))).unwrap()
}

/// Returns the plan of LAMB that clips to a fifth of the norm that the step's own clip leaves.
fn lamb(number: u64) -> OptimizerConfig {
    let UpdateRule::Lamb(lamb) = whole_rules()[0] else { panic!("the first is LAMB") };
    let rule = Lamb { lr: rate(number), max_grad_norm: 0.1, ..lamb };
    OptimizerConfig::new(UpdateRule::Lamb(rule)).unwrap()
}

fn replays_are_the_uncaptured_steps_bit_for_bit() -> Result {
    for (name, plan, types) in PLANS {
        for dtype in types {
            let want = uncaptured(plan, *dtype, Model::step)?;
            let skipped = want.0.iter().filter(|said| said.starts_with("Skipped")).count();
            assert_eq!(skipped, 1, "one overflow");
            assert!(want.1.contains("exponent: 18"), "grown thrice, backed off once: {}", want.1);
            let got = replayed(plan, *dtype, Model::step)?;
            for (step, (got, want)) in got.0.iter().zip(&want.0).enumerate() {
                assert_eq!(got, want, "step {step} of {name} in {dtype}");
            }
            assert_eq!(got, want, "{name} in {dtype}");
        }
    }
    for plan in [adam as Plan, lamb] {
        let want = uncaptured(plan, DType::F16, Model::window)?;
        assert!(want.0.iter().any(|said| said.contains("left out of the sum")), "{:?}", want.0);
        assert_eq!(replayed(plan, DType::F16, Model::window)?, want);
    }
    Ok(())
}

fn replays_wait_for_nothing_and_each_outcome_is_its_own() -> Result {
    let (want, _) = uncaptured(adam, DType::F16, Model::step)?;
    let mut model = Model::new(&own(), adam(0), DType::F16)?;
    // The outcome is kept uncounted, so that a checkpoint finds no step in flight between replays.
    let (captured, _) = model.captured(|model| model.step().map(StepOutcome::uncounted))?;
    assert!(captured.operations() >= 6, "{captured:?}");
    assert_eq!(model.scaler.in_flight(), 0);
    let (before, mut outcomes) = (model.cuda.counters(), Vec::new());
    for number in 2..STEPS {
        model.optimizer.set_config(adam(number))?;
        model.write(number)?;
        outcomes.push(captured.replay()?);
    }
    let after = model.cuda.counters();
    assert_eq!(after.syncs, before.syncs);
    assert_eq!(
        after.launches, before.launches,
        "f32 data are copied, and all else is in the graph"
    );
    assert_eq!(after.replays - before.replays, STEPS - 2);
    assert_eq!(after.reports - before.reports, STEPS - 2);
    let said = outcomes.into_iter().map(|outcome| Ok(say(&outcome.resolve()?)));
    let said = said.collect::<Result<Vec<_>>>()?;
    assert_eq!(said, want[2..]);
    assert_eq!(model.scaler.in_flight(), 0);
    Ok(())
}

/// Steps are ordinary, or of one of two captures, in a mixed order.
fn captured_steps_of_one_scaler_and_ordinary_ones_take_turns() -> Result {
    let mut alone = Model::new(&own(), adam(0), DType::F16)?;
    let mut model = Model::new(&own(), adam(0), DType::F16)?;
    let (steps, mut said) = model.captured(Model::step)?;
    let (windows, more) = model.captured(Model::window)?;
    said.extend(more);

    let mut wanted = Vec::new();
    for (number, step) in
        [(0, Model::step as Stepping), (1, Model::step), (0, Model::window), (1, Model::window)]
    {
        alone.write(number)?;
        wanted.push(say(&step(&mut alone)?.resolve()?));
    }
    // Outcomes are resolved late, as is best on a GPU. Those of ordinary steps are not: their clone of the scale would make the
    // next one move it.
    let mut late = Vec::new();
    for number in 2..STEPS {
        model.write(number)?;
        alone.write(number)?;
        let (outcome, want) = match number % 4 {
            0 => (windows.replay()?, alone.window()?),
            1 => (model.step()?, alone.step()?),
            2 => (model.window()?, alone.window()?),
            _ => (steps.replay()?, alone.step()?),
        };
        wanted.push(say(&want.resolve()?));
        late.push(outcome);
        if [1, 2].contains(&(number % 4)) {
            for outcome in late.drain(..) {
                said.push(say(&outcome.resolve()?));
            }
        }
        assert_eq!(model.scaler.state()?, alone.scaler.state()?, "step {number}");
    }
    for outcome in late {
        said.push(say(&outcome.resolve()?));
    }
    assert_eq!(said, wanted);
    assert_eq!(model.trace()?, alone.trace()?);
    Ok(())
}

fn what_comes_behind_an_update_leaves_its_report_alone() -> Result {
    let mut model = Model::new(&own(), adam(0), DType::F16)?;
    let cuda = model.cuda.clone();
    let mut step = || {
        let outcome = model.step()?;
        // The tensor has the size of a report, so that it would get its memory.
        Ok::<_, Error>((outcome, l2_norm(&cuda, &model.data)?))
    };
    drop(step()?);
    let ((first, _), capture) = cuda.capture().warm_up(&mut step)?;
    first.ignore();
    let ((second, _), capture) = capture.warm_up(&mut step)?;
    second.ignore();
    let captured = capture.capture(&mut step)?;
    for number in 2..STEPS {
        model.write(number)?;
        let (outcome, norm) = captured.replay()?;
        assert_eq!(outcome.resolve()?.report().scale.updates, number + 2);
        assert_eq!(cuda.bits(&norm), cuda.bits(&l2_norm(&cuda, &model.data)?));
    }
    Ok(())
}

fn a_step_of_more_tables_than_are_kept_is_captured() -> Result {
    let cuda = own();
    let data = vector(&cuda, &noise(1, 100), DType::F32);
    let step = || {
        let norm = |len: usize| l2_norm(&cuda, &[data.slice(0, len)?]);
        (1..100).map(norm).collect::<Result<Vec<_>, Error>>()
    };
    let captured = captured(&cuda, step)?;
    // Tables of others, and tables that nobody holds, come and go.
    step()?;
    cuda.trim();
    cuda.write(&data, &noise(2, 100))?;
    let got: Vec<_> = captured.replay()?.iter().map(|norm| cuda.bits(norm)).collect();
    let want: Vec<_> = step()?.iter().map(|norm| cuda.bits(norm)).collect();
    assert_eq!(got, want);
    Ok(())
}

fn what_is_written_is_seen_by_clones_of_every_type() -> Result {
    let cuda = own();
    let values: Vec<f32> = noise(3, 70_000);
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::E4M3, DType::E5M2] {
        let tensor = vector(&cuda, &vec![0.0; values.len()], dtype);
        let clone = tensor.slice(10, 60_000)?;
        cuda.write(&tensor, &values)?;
        let want = vector(&cuda, &values, dtype).slice(10, 60_000)?;
        assert_eq!(cuda.bits(&clone), cuda.bits(&want), "{dtype}");
        cuda.write(&clone, &values[..60_000])?;
        let want = vector(&cuda, &values[..60_000], dtype);
        assert_eq!(cuda.bits(&clone), cuda.bits(&want), "{dtype}");
        assert!(cuda.write(&tensor, &values[1..]).is_err(), "one too few");
    }
    let keys = cuda.from_bits(&[0; 16], DType::I64, &[2])?;
    cuda.write_bits(&keys, &[7; 16])?;
    assert_eq!(cuda.bits(&keys), [7; 16]);
    assert!(cuda.write_bits(&keys, &[7; 15]).is_err(), "one too few");
    assert!(cuda.write(&keys, &[1.0, 2.0]).is_err(), "integers are written as bits");
    Ok(())
}

fn a_handle_works_while_another_is_captured() -> Result {
    let mut model = Model::new(&own(), adam(0), DType::F16)?;
    let cuda = model.cuda.clone();
    let capture = warmed(&cuda, || model.step())?;
    // A new handle takes memory, loads kernels and waits while this one is captured.
    let train = || uncaptured(sgd, DType::F16, Model::step).map_err(|error| format!("{error:?}"));
    let mut left = None;
    let captured = capture.capture(|| {
        let outcome = model.step();
        left = Some(std::thread::scope(|scope| scope.spawn(train).join()));
        outcome
    })?;
    let other = left.and_then(Result::ok).ok_or("a panic")??;
    assert_eq!(other, uncaptured(sgd, DType::F16, Model::step)?);
    drop(captured.replay()?.resolve()?);
    Ok(())
}
