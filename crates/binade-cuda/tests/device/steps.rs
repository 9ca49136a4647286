//! Whole training steps, against the CPU bit by bit.

use crate::support::{Device, Grads, Result, cuda, noise, own, vector};
use binade_core::{DType, Named};
use binade_cpu::Cpu;
use binade_grad_scaler::{LossScale, ScaleState, Scaler};
use binade_master_weights::{Adam, MasterOptimizer, MasterStore, Plan, Sgd, UpdateRule};

crate::tests![
    a_hundred_steps_with_overflows_at_random_are_the_cpus_bit_for_bit,
    steps_read_nothing_until_they_are_resolved,
    every_rule_store_and_type_steps_as_on_the_cpu,
    whatever_sgd_leaves_out_it_steps_as_on_the_cpu,
    rules_of_two_kinds_move_their_groups_in_one_step,
    a_learning_rate_that_moves_steps_as_on_the_cpu,
    a_clone_of_a_parameter_keeps_its_bits,
];

/// Every store that has a kernel.
const STORES: [MasterStore; 6] = [
    MasterStore::Copy,
    MasterStore::NoMaster,
    MasterStore::Remainder,
    MasterStore::Stochastic { seed: 0x0123_4567_89ab_cdef },
    MasterStore::Kahan,
    MasterStore::ScaledF16,
];

const NAMES: [&str; 3] = ["weight", "bias", "norm"];
const LENGTHS: [usize; 3] = [5000, 7, 33];

/// What is left of a run: parameters' bits, and what each step said.
#[derive(Debug, PartialEq)]
struct Trace {
    params: Vec<Vec<u8>>,
    said: Vec<String>,
}

fn params<D: Device>(device: &D, dtype: DType) -> Vec<Named<D::Tensor>> {
    let one = |(name, len): (&&str, usize)| {
        Named::new(*name, vector(device, &noise(len as u64, len), dtype))
    };
    NAMES.iter().zip(LENGTHS).map(one).collect()
}

/// Gradients of step `number`, one element of which is infinite or NaN in one step of seven or so.
fn grads<D: Device>(device: &D, number: u64, dtype: DType) -> Grads<D> {
    let mut random = fastrand::Rng::with_seed(number);
    let spoilt = (random.u32(..7) == 0).then(|| random.usize(..3));
    let bad = if random.bool() { f32::NAN } else { f32::NEG_INFINITY };
    let one = |(place, name): (usize, &&str)| {
        let mut values = noise(1000 * number + place as u64, LENGTHS[place]);
        for x in &mut values {
            *x *= 300.0;
        }
        if spoilt == Some(place) {
            let at = random.usize(..values.len());
            values[at] = bad;
        }
        Named::new(*name, Some(vector(device, &values, dtype)))
    };
    NAMES.iter().enumerate().map(one).collect::<Vec<_>>().into()
}

/// Trains for so many steps, clipped by norm; each outcome is looked at if `look` says so.
fn train<D: Device>(
    device: &D,
    plan: impl Fn(u64) -> Plan,
    [param, grad]: [DType; 2],
    steps: u64,
    look: bool,
) -> Result<Trace> {
    let rule = LossScale::dynamic().with_growth_interval(3)?;
    let mut scaler = Scaler::new(device.clone(), rule)?;
    let mut optimizer = MasterOptimizer::new(device.clone(), params(device, param), plan(0))?;
    let loss = vector(device, &[1.0], DType::F32);
    let mut said = Vec::new();
    for number in 0..steps {
        optimizer.set_plan(plan(number))?;
        let grads = scaler.scale(&loss)?.backward(|_| Ok(grads(device, number, grad)))?;
        let step = grads.unscale()?.clip_norm(0.5)?.step(&mut optimizer)?;
        let outcome = scaler.update(step)?;
        if look {
            said.push(format!("{:?}", outcome.resolve()?));
        } else {
            outcome.leave_unread();
        }
    }
    let params = optimizer.params.iter().map(|param| device.bits(&param.value)).collect();
    Ok(Trace { params, said })
}

fn adamw() -> UpdateRule {
    UpdateRule::adamw(1e-2)
}

fn a_hundred_steps_with_overflows_at_random_are_the_cpus_bit_for_bit() -> Result {
    let plan = |_| Plan::new(adamw()).unwrap();
    let dtypes = [DType::F16, DType::F16];
    let want = train(&Cpu, plan, dtypes, 100, true)?;
    let skipped = want.said.iter().filter(|said| said.starts_with("Skipped")).count();
    assert!((5..50).contains(&skipped), "{skipped} of 100 skipped");
    let cuda = own();
    let before = cuda.ledger();
    let got = train(&cuda, plan, dtypes, 100, true)?;
    for (step, (got, want)) in got.said.iter().zip(&want.said).enumerate() {
        assert_eq!(got, want, "step {step}");
    }
    assert_eq!(got, want);
    // One for each outcome that was looked at, and one for each parameter that was compared.
    assert_eq!(cuda.ledger().syncs - before.syncs, 100 + NAMES.len() as u64);
    Ok(())
}

fn steps_read_nothing_until_they_are_resolved() -> Result {
    let plan = Plan::new(adamw())?;
    let cuda = own();
    let mut scaler = Scaler::new(cuda.clone(), LossScale::dynamic())?;
    let params = params(&cuda, DType::BF16);
    let mut optimizer = MasterOptimizer::new(cuda.clone(), params, plan.clone())?;
    let loss = vector(&cuda, &[1.0], DType::F32);
    let before = cuda.ledger();
    let mut last = None;
    for number in 0..100 {
        let grads = scaler.scale(&loss)?.backward(|_| Ok(grads(&cuda, number, DType::BF16)))?;
        let step = grads.unscale()?.clip_norm(0.5)?.step(&mut optimizer)?;
        last = Some(scaler.update(step)?);
    }
    assert_eq!(cuda.ledger().syncs, before.syncs);
    assert_eq!(cuda.ledger().reports - before.reports, 100);
    let step = last.ok_or("no step")?.resolve()?;
    assert_eq!(cuda.ledger().syncs - before.syncs, 1);
    assert_eq!(step.report().scale.updates, 100);
    Ok(())
}

fn every_rule_store_and_type_steps_as_on_the_cpu() -> Result {
    let sgd = Sgd { lr: 0.1, momentum: 0.9, dampening: 0.1, weight_decay: 0.01, nesterov: false };
    let adam = Adam {
        lr: 1e-2,
        betas: [0.9, 0.99],
        eps: 1e-8,
        weight_decay: 0.1,
        decoupled: false,
        amsgrad: true,
    };
    let rules = [
        UpdateRule::sgd(0.1),
        UpdateRule::Sgd(sgd),
        UpdateRule::Sgd(Sgd { dampening: 0.0, nesterov: true, ..sgd }),
        adamw(),
        UpdateRule::Adam(adam),
    ];
    let types = [DType::BF16, DType::F16, DType::F32];
    for (rule, store) in rules.into_iter().flat_map(|rule| STORES.map(|store| (rule, store))) {
        let plan = |_| Plan::new(rule).unwrap().with_store(store);
        let taken = types.into_iter().filter(|dtype| store.takes(*dtype));
        for dtypes in taken.flat_map(|param| types.map(|grad| [param, grad])) {
            let want = train(&Cpu, plan, dtypes, 4, true)?;
            assert_eq!(
                train(&cuda(), plan, dtypes, 4, true)?,
                want,
                "{rule:?} {store:?} {dtypes:?}"
            );
        }
    }
    Ok(())
}

fn whatever_sgd_leaves_out_it_steps_as_on_the_cpu() -> Result {
    let all = Sgd { lr: 0.1, momentum: 0.9, dampening: 0.0, weight_decay: 0.01, nesterov: true };
    for rule in [
        Sgd { momentum: 0.0, nesterov: false, ..all },
        Sgd { weight_decay: 0.0, ..all },
        Sgd { weight_decay: 0.0, nesterov: false, ..all },
    ] {
        let plan = |_| Plan::new(UpdateRule::Sgd(rule)).unwrap();
        let want = train(&Cpu, plan, [DType::F16; 2], 4, true)?;
        assert_eq!(train(&cuda(), plan, [DType::F16; 2], 4, true)?, want, "{rule:?}");
    }
    Ok(())
}

fn rules_of_two_kinds_move_their_groups_in_one_step() -> Result {
    let plan = |_| {
        let plan = Plan::new(adamw()).unwrap().with_storage(DType::F16).keep(["norm"]);
        plan.with_group(["bias", "norm"], UpdateRule::sgd(0.5)).unwrap()
    };
    let dtypes = [DType::F32, DType::F16];
    let want = train(&Cpu, plan, dtypes, 12, true)?;
    assert_eq!(train(&cuda(), plan, dtypes, 12, true)?, want);
    Ok(())
}

fn a_learning_rate_that_moves_steps_as_on_the_cpu() -> Result {
    let rates = [1e-3, 2e-3, 0.0, 5e-2, 1e-3];
    let plan = |number: u64| {
        Plan::new(UpdateRule::adamw(
            *rates.iter().cycle().nth(usize::try_from(number).unwrap()).unwrap(),
        ))
        .unwrap()
    };
    let dtypes = [DType::BF16, DType::F32];
    let want = train(&Cpu, plan, dtypes, 20, false)?;
    assert_eq!(train(&cuda(), plan, dtypes, 20, false)?, want);
    Ok(())
}

fn a_clone_of_a_parameter_keeps_its_bits() -> Result {
    let cuda = cuda();
    let mut scaler = Scaler::new(cuda.clone(), LossScale::none())?;
    let plan = Plan::new(UpdateRule::sgd(1.0))?;
    let mut optimizer = MasterOptimizer::new(cuda.clone(), params(&cuda, DType::F32), plan)?;
    let kept = optimizer.params[0].value.clone();
    let before = cuda.to_bits(&kept)?;
    let grads = scaler.never_scaled(grads(&cuda, 1, DType::F32))?;
    let state: ScaleState = {
        let step = grads.step(&mut optimizer)?;
        scaler.update(step)?.resolve()?.report().scale
    };
    assert_eq!(state.skipped, 0, "the seed is one without an overflow");
    assert_eq!(cuda.to_bits(&kept)?, before);
    assert_ne!(cuda.to_bits(&optimizer.params[0].value)?, before);
    Ok(())
}
