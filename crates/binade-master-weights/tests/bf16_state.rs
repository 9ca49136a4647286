//! State in bf16: a step is that of `f32` state, rounded behind it; files, memory, and what is refused.

use crate::common::{
    Optimizer, all_rules, config, fine, grads, optimizer, params, stores_and_types, values,
};
use binade_core::{
    DType, Error as _, ErrorKind, HostDevice, Optimizer as _, RawTensor, TensorSpec,
};
use binade_master_weights::{
    Adam, ConfigError, Memory, OptimizerConfig, SavedParameter, StateKind, UpdateRule,
};

const LEN: usize = 300;

/// Returns the configuration with all state of the rule in bf16.
fn low(config: OptimizerConfig) -> OptimizerConfig {
    let names = config.rule().moment_names();
    config.with_bf16_state(names.iter().copied())
}

fn step(optimizer: &mut Optimizer, seed: u64) {
    let grad = values(LEN, seed);
    optimizer.step(grads(DType::F32, [("w", &grad[..])]), &fine()).unwrap();
}

/// Returns the state with `f32` moments for bf16 ones, or the reverse, rounded.
fn moved(saved: &[SavedParameter], to: DType) -> Vec<SavedParameter> {
    let mut saved = saved.to_vec();
    for (kind, raw) in saved.iter_mut().flat_map(|one| &mut one.kept) {
        let other = match kind {
            StateKind::Moment(place) | StateKind::Bf16Moment(place) if to == DType::BF16 => {
                StateKind::Bf16Moment(*place)
            }
            StateKind::Moment(place) | StateKind::Bf16Moment(place) => StateKind::Moment(*place),
            _ => continue,
        };
        let (values, shape) = (raw.to_f32().unwrap(), &raw.spec().shape);
        *raw = RawTensor::from_f32(TensorSpec::new(to, &shape[..]), &values).unwrap();
        *kind = other;
    }
    saved
}

#[test]
fn a_step_is_that_of_f32_state_whose_moments_are_rounded_behind_it() {
    let start = values(LEN, 1);
    for rule in all_rules().into_iter().filter(|rule| rule.moments() > 0) {
        for (store, dtype) in stores_and_types() {
            let config = config(rule).with_store(store);
            let begin = |config| optimizer(params(dtype, [("w", &start[..])]), config);
            let (mut ours, mut wide) = (begin(low(config.clone())), begin(config));
            let rounded = moved(&wide.save().unwrap(), DType::BF16);
            wide.load(&moved(&rounded, DType::F32)).unwrap();
            for seed in 2..7 {
                step(&mut ours, seed);
                step(&mut wide, seed);
                let rounded = moved(&wide.save().unwrap(), DType::BF16);
                assert_eq!(ours.save().unwrap(), rounded, "{rule:?} {store:?} {dtype} {seed}");
                wide.load(&moved(&rounded, DType::F32)).unwrap();
            }
        }
    }
}

#[test]
fn a_file_is_resumed_to_the_bit_and_one_of_the_other_type_is_refused_by_name() {
    let (start, rule) = (values(LEN, 1), UpdateRule::adamw(0.1));
    let begin = |config| optimizer(params(DType::F16, [("w", &start[..])]), config);
    let (mut whole, mut resumed) = (begin(low(config(rule))), begin(low(config(rule))));
    step(&mut whole, 2);
    resumed.load(&whole.save().unwrap()).unwrap();
    for run in [&mut whole, &mut resumed] {
        step(run, 3);
    }
    assert_eq!(resumed.save().unwrap(), whole.save().unwrap());

    let mut wide = begin(config(rule));
    let refused = wide.load(&whole.save().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("bf16_moment0 of `w`: found bf16"), "{refused}");
    let refused = whole.load(&wide.save().unwrap()).unwrap_err().to_string();
    assert!(refused.contains("moment0 of `w`: found f32"), "{refused}");
    // The explicit conversion.
    whole.load(&moved(&wide.save().unwrap(), DType::BF16)).unwrap();
}

#[test]
fn state_is_chosen_by_name_and_memory_says_what_it_takes() {
    let start = values(LEN, 1);
    for rule in all_rules() {
        let bytes = |config: OptimizerConfig| {
            let memory = Memory::of(&config, [("w", DType::F32, LEN as u64)]);
            let kept = optimizer(params(DType::F32, [("w", &start[..])]), config);
            assert_eq!(kept.masters().bytes(), (memory.masters, memory.optimizer), "{rule:?}");
            memory.optimizer / LEN as u64
        };
        let moments = rule.moments() as u64;
        assert_eq!(bytes(low(config(rule))), 2 * moments);
        let first = rule.moment_names().iter().take(1).copied();
        assert_eq!(bytes(config(rule).with_bf16_state(first)), 4 * moments - 2 * moments.min(1));
    }
    let group = config(UpdateRule::adam(0.1)).with_group(["b"], UpdateRule::lion(0.1)).unwrap();
    let memory = |name| {
        let config = group.clone().with_bf16_state(["exp_avg_sq"]);
        Memory::of(&config, [(name, DType::F32, 1)]).optimizer
    };
    assert_eq!([memory("a"), memory("b")], [4 + 2, 4]);
}

#[test]
fn a_name_that_no_rule_keeps_and_another_type_in_a_running_optimizer_are_refused() {
    let set = || params(DType::F32, [("w", &[1.0, 2.0][..])]);
    let wrong = config(UpdateRule::adam(0.1)).with_bf16_state(["exp_avg", "exp_avg_qs"]);
    let error = Optimizer::new(HostDevice::new(), set(), wrong).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch);
    assert!(error.to_string().contains("keeps `exp_avg_qs` in bf16"), "{error}");

    let adam = config(UpdateRule::adam(0.1));
    let mut run = optimizer(set(), adam.clone());
    let error = run.set_config(low(adam.clone())).unwrap_err().to_string();
    assert!(error.contains("state in bf16"), "{error}");
    let mut run = optimizer(set(), low(adam.clone()));
    assert!(run.set_config(adam.clone()).is_err());
    run.set_config(low(adam.with_lr(0.2).unwrap())).unwrap();
}

#[test]
fn a_device_of_kernels_refuses_state_in_bf16_by_name() {
    let config = config(UpdateRule::adam(0.1)).with_bf16_state(["exp_avg_sq"]);
    let check = |takes_bf16: bool| config.check_kernels("wgpu", |_| true, |_| takes_bf16);
    assert_eq!(check(true), Ok(()));
    let error = check(false).unwrap_err();
    let state = ConfigError::State { device: "wgpu", rule: "adam", name: "exp_avg_sq" };
    assert_eq!((error.kind(), &error), (ErrorKind::Unsupported, &state));
    assert!(error.to_string().contains("`exp_avg_sq` in bf16"), "{error}");
}

/// The claims of `with_bf16_state` about a `beta2` of 0.999.
#[test]
fn a_mean_of_squares_in_bf16_never_falls_and_no_lost_update_tells_of_it() {
    let second = |betas, names: &[&str]| {
        let rule = UpdateRule::Adam(Adam { betas, ..adam() });
        let config = config(rule).with_lost_updates(true);
        let config = config.with_bf16_state(names.iter().copied());
        let mut run = optimizer(params(DType::F32, [("w", &[1.0][..])]), config);
        let mut lost = 0;
        for number in 0..3000 {
            let grad = if number < 20 { 1.0 } else { 0.01 };
            run.step(grads(DType::F32, [("w", &[grad][..])]), &fine()).unwrap();
            lost += run.masters().lost_updates().unwrap().lost;
        }
        let slot = run.masters().get("w").unwrap();
        let low = slot.bf16_moments[1].first().map(|x| x.to_f32());
        (low.unwrap_or_else(|| slot.moments[1][0]), lost)
    };
    let all = ["exp_avg", "exp_avg_sq"];
    let largest = 1.0 - 0.999_f32.powi(20);
    let (stuck, lost) = second([0.9, 0.999], &all);
    assert!((stuck - largest).abs() < 0.1 * largest && lost == 0, "{stuck}, {lost}");
    let (exact, _) = second([0.9, 0.999], &all[..1]);
    assert!(exact < 0.1 * stuck, "{exact}");
    let (faster, _) = second([0.9, 0.99], &all);
    assert!(faster < 0.1 * stuck, "{faster}");
}

fn adam() -> Adam {
    let UpdateRule::Adam(adam) = UpdateRule::adam(1e-3) else { unreachable!() };
    adam
}
