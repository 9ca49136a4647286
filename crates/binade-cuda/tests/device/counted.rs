//! Lost updates, counted on the device, against the CPU.

use crate::shared::{
    counted::{rules, total},
    whole::whole_rules,
};
use crate::support::{
    Compared, Device as _, Grads, Result, STORES, cuda, noise, optimizer, set, step, step_in,
    vector,
};
use binade_core::{DType, Named, Optimizer as _};
use binade_cpu::Cpu;
use binade_cuda::Cuda;
use binade_grad_scaler::{GradOps as _, GradScaler as _, Norm, ScaleState, ScaleStore as _};
use binade_master_weights::{Adam, LostUpdates, OptimizerConfig, Sgd, UpdateRule};

crate::tests![
    counts_are_the_cpus_by_every_rule_store_and_type,
    rules_of_whole_tensors_step_as_the_cpu_by_every_store_and_type,
    what_no_type_can_hold_is_counted_as_on_the_cpu,
    counting_rounds_ties_and_nan_in_every_lane_as_without,
    a_momentum_that_comes_to_nothing_is_no_update,
    gradients_that_are_still_owed_a_factor_are_counted_by_what_they_come_to,
    gradients_that_begin_anywhere_are_counted,
];

const SET: [(&str, usize); 4] = [("a", 4103), ("b", 5), ("c", 0), ("d", 300)];

/// Returns values of which some are zero, so that there is nothing to decay.
fn start() -> Vec<(&'static str, Vec<f32>)> {
    let value = |(index, x): (usize, f32)| if index % 7 == 3 { 0.0 } else { x };
    SET.map(|(name, len)| {
        (name, noise(len as u64, len).into_iter().enumerate().map(value).collect())
    })
    .into()
}

/// Returns gradients of all sizes, from those that move nothing to those that move everything, and zeros.
fn grads(number: u64) -> Vec<(&'static str, Vec<f32>)> {
    // Nine sizes, so that zeros come to each of eight neighbours.
    let sized = |(index, x): (usize, f32)| {
        [1.0, 1e-2, 1e-4, 1e-6, 1e-30].get(index % 9).map_or(0.0, |size| x * size)
    };
    let one = |(name, len): (&'static str, usize)| {
        (name, noise(number + len as u64, len).into_iter().enumerate().map(sized).collect())
    };
    SET.map(one).into()
}

fn counts_are_the_cpus_by_every_rule_store_and_type() -> Result {
    steps_are_the_cpus(rules(), &start(), grads, 1000)
}

/// Norms are sums of `f64` in another order than the CPU's, which round to its `f32` on these data.
fn rules_of_whole_tensors_step_as_the_cpu_by_every_store_and_type() -> Result {
    steps_are_the_cpus(whole_rules(), &start(), grads, 100)
}

/// Values of tensors, by name.
type Values = Vec<(&'static str, Vec<f32>)>;

/// Compares three steps with the CPU's by each rule, store and type: parameters, state, and lost updates, of which each rule has more than
/// `least`.
fn steps_are_the_cpus(
    rules: impl IntoIterator<Item = UpdateRule>,
    start: &[(&'static str, Vec<f32>)],
    grads: fn(u64) -> Values,
    least: u64,
) -> Result {
    let cuda = cuda();
    let types = [DType::BF16, DType::F16, DType::F32];
    let stores = STORES.into_iter().flat_map(|store| types.map(|low| (store, low)));
    for rule in rules {
        let mut seen = LostUpdates::default();
        for (store, low) in stores.clone().filter(|(store, low)| store.takes(*low)) {
            let config = OptimizerConfig::new(rule)?.with_store(store).with_lost_updates(true);
            let config = config.with_storage(low);
            let mut run = Compared::new(&cuda, start, DType::F32, &config);
            for (number, made) in (0..).zip(types) {
                run.step(made, &grads(number))?;
                run.assert_same(&format!("{store:?} {low} {rule:?} {number}"))?;
                seen += run.cpu.masters().lost_updates().ok_or("counts")?;
            }
        }
        assert!(seen.lost > least && seen.moved > 1000, "{rule:?}: {seen:?}");
    }
    Ok(())
}

fn what_no_type_can_hold_is_counted_as_on_the_cpu() -> Result {
    let cuda = cuda();
    let top = [f32::MAX, -f32::MAX, 65504.0, -65504.0, 65520.0, 1e38, 2e-38, -1e-40];
    let odd = [f32::from_bits(0x7f7f_8000), f32::INFINITY, -0.0, 0.0, 1e-45, -6e-8, 1.0];
    let values = [&top[..], &[f32::NAN; 8], &odd].concat();
    let small = |x: &f32| if x.is_finite() { x / 4e3 } else { 1.0 };
    let nudge: Vec<f32> = values.iter().map(small).collect();
    let types = [DType::BF16, DType::F16, DType::F32];
    let stores = STORES.into_iter().flat_map(|store| types.map(|low| (store, low)));
    for (store, low) in stores.filter(|(store, low)| store.takes(*low)) {
        for rule in rules() {
            let config =
                OptimizerConfig::new(rule.with_lr(0.5))?.with_store(store).with_lost_updates(true);
            let config = config.with_storage(low);
            let mut run = Compared::new(&cuda, &[("w", values.clone())], DType::F32, &config);
            for grad in [nudge.clone(), vec![1e-44; 23], vec![0.0; 23]] {
                run.step(DType::F32, &[("w", grad)])?;
                run.assert_same_counts(&format!("{store:?} {low} {rule:?}"))?;
            }
        }
    }
    Ok(())
}

/// 2^60.
const EPSILON: f64 = 1_152_921_504_606_846_976.0;

/// Adam that subtracts the gradient: it has no second moment, and an epsilon so large that the root vanishes beside it.
const SUBTRACTING: Adam = Adam {
    lr: EPSILON,
    betas: [0.0; 2],
    eps: EPSILON,
    weight_decay: 0.0,
    decoupled: false,
    amsgrad: false,
    sparse: false,
};

/// Eight of each number are neighbours, and gradients take them halfway between two numbers of bf16, and of f16.
fn counting_rounds_ties_and_nan_in_every_lane_as_without() -> Result {
    let cuda = cuda();
    let near_one = (0..16_u8).map(|step| 1.0 + f32::from(step) / 128.0);
    let special = [f32::NAN, f32::INFINITY, -f32::INFINITY];
    let values: Vec<f32> = near_one.chain(special).flat_map(|x| [x; 8]).collect();
    for (rule, store) in [UpdateRule::sgd(1.0), UpdateRule::Adam(SUBTRACTING)]
        .into_iter()
        .flat_map(|rule| STORES.map(|store| (rule, store)))
    {
        for low in [DType::BF16, DType::F16].into_iter().filter(|low| store.takes(*low)) {
            let config = OptimizerConfig::new(rule)?.with_store(store);
            let start = [("w", values.clone())];
            let counted = config.clone().with_lost_updates(true);
            let mut counting = optimizer(&cuda, &start, low, counted);
            let mut other = optimizer(&cuda, &start, low, config);
            for half in [2_f32.powi(-8), 2_f32.powi(-11)] {
                for run in [&mut counting, &mut other] {
                    step(&cuda, run, &[("w", vec![half; values.len()])])?;
                }
                let [got, want] = [&counting, &other].map(|run| cuda.bits(&run.params[0].value));
                assert_eq!(got, want, "{rule:?} {store:?} {low}");
            }
        }
    }
    Ok(())
}

fn a_momentum_that_comes_to_nothing_is_no_update() -> Result {
    let sgd = Sgd { lr: 1.0, momentum: 0.5, dampening: 0.0, weight_decay: 0.0, nesterov: true };
    let config = OptimizerConfig::new(UpdateRule::Sgd(sgd))?.with_lost_updates(true);
    let mut run = Compared::new(&cuda(), &[("w", vec![1.0; 16])], DType::F32, &config);
    // The gradient is twice the least number: half of it is left as momentum, and half of that is 0.
    for (grad, lost) in [(f32::from_bits(2), 16), (0.0, 0)] {
        run.step(DType::F32, &[("w", vec![grad; 16])])?;
        assert_eq!(total(&run.gpu)?, Some([lost, 0]));
        run.assert_same_counts("a momentum")?;
    }
    Ok(())
}

fn gradients_that_are_still_owed_a_factor_are_counted_by_what_they_come_to() -> Result {
    let cuda = cuda();
    let config = OptimizerConfig::new(UpdateRule::sgd(1.0))?.with_lost_updates(true);
    let mut run = optimizer(&cuda, &[("w", vec![1.0, 1.0, 0.0])], DType::F32, config);
    // The least subnormal, which is 0 once it is halved, and twice it, which is not.
    let least = f32::from_bits(1);
    let mut grads = set(&cuda, &[("w", Some(vec![least, 2.0 * least, 0.0]))], DType::F32);
    let scale = cuda.upload_state(ScaleState::from_exponent(1))?;
    let found = cuda.unscale(&mut grads, &scale)?;
    run.step(grads, &found)?;
    assert_eq!(total(&run)?, Some([1, 0]));
    let mut grads = set(&cuda, &[("w", Some(vec![3e-9, 4.0, 0.0]))], DType::F32);
    let mut found = cuda.unscale(&mut grads, &cuda.upload_state(ScaleState::from_exponent(0))?)?;
    cuda.clip_norm(&mut grads, Norm::L2, 1e-40, &mut found)?;
    run.step(grads, &found)?;
    // A gradient that is clipped to zero is no update.
    assert_eq!(total(&run)?, Some([1, 0]));
    Ok(())
}

fn gradients_that_begin_anywhere_are_counted() -> Result {
    let cuda = cuda();
    let (start, grads) = (vec![("w", noise(1, 37))], noise(2, 38));
    for (store, dtype) in STORES.map(|store| [(store, DType::F32), (store, DType::F16)]).concat() {
        let config =
            OptimizerConfig::new(UpdateRule::sgd(1e-3))?.with_store(store).with_lost_updates(true);
        let config = config.with_storage(DType::BF16);
        let mut run = Compared::new(&cuda, &start, DType::F32, &config);
        step_in(dtype, &Cpu, &mut run.cpu, &[("w", grads[1..].to_vec())])?;
        let part = vector(&cuda, &grads, dtype).slice(1, 37)?;
        let mut grads: Grads<Cuda> = vec![Named::new("w", Some(part))].into();
        let found = cuda.unscale(&mut grads, &cuda.upload_state(ScaleState::from_exponent(0))?)?;
        run.gpu.step(grads, &found)?;
        run.assert_same_counts(&format!("{store:?} {dtype}"))?;
    }
    Ok(())
}
