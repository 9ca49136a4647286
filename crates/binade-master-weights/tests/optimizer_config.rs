//! Which rule moves which parameter, and how a configuration is replaced.

use crate::common::{
    ALL, Optimizer, all_rules, bits, config, fine, grads, optimizer, params, rules,
};
use binade_core::{DType, Error as _, ErrorKind, Optimizer as _, RawTensor};
use binade_master_weights::{
    ConfigError, CustomRule, ElementState, MasterStore, OptimizerConfig, SavedParameter, StateKind,
    Storage, UpdateRule,
};

const SET: [(&str, &[f32]); 3] = [("a", &[1.0]), ("b", &[1.0]), ("c", &[1.0])];

/// A step with gradients of 1, and where it led.
fn stepped(optimizer: &mut Optimizer) -> [f32; 3] {
    optimizer.step(grads(DType::F32, SET), &fine()).unwrap();
    [0, 1, 2].map(|i| optimizer.params[i].value.data[0])
}

fn grouped() -> OptimizerConfig {
    config(UpdateRule::sgd(0.5))
        .with_group(["b", "c"], UpdateRule::sgd(0.25))
        .unwrap()
        .with_group(["c"], UpdateRule::sgd(0.125))
        .unwrap()
}

#[test]
fn a_group_moves_what_it_names_and_a_later_group_takes_over() {
    let mut optimizer = optimizer(params(DType::F32, SET), grouped());
    assert_eq!(stepped(&mut optimizer), [0.5, 0.75, 0.875]);
}

#[test]
fn groups_may_differ_in_kind_and_keep_their_own_state() {
    let config = config(UpdateRule::sgd(0.5)).with_group(["b"], UpdateRule::adam(0.5)).unwrap();
    let mut optimizer = optimizer(params(DType::F16, SET), config);
    stepped(&mut optimizer);
    let moments = |name| optimizer.masters().get(name).unwrap().moments.each_ref().map(Vec::len);
    assert_eq!(["a", "b"].map(moments), [[0, 0, 0], [1, 1, 0]]);
}

/// Rates of `a`, `b` and `c`, as bits.
fn rates(config: &OptimizerConfig) -> [u64; 3] {
    ["a", "b", "c"].map(|name| config.rule_for(name).lr().to_bits())
}

#[test]
fn a_warm_up_from_0_gives_groups_their_ratio_back() {
    let warmed = grouped().with_lr(0.0).unwrap();
    assert_eq!(rates(&warmed), [0.0_f64.to_bits(); 3]);
    let warmed = warmed.with_lr(0.1).unwrap();
    assert_eq!(rates(&warmed), [0.1_f64, 0.05, 0.025].map(f64::to_bits));
}

#[test]
fn groups_do_not_drift_over_a_long_schedule() {
    let thirds = || config(UpdateRule::sgd(0.3)).with_group(["b"], UpdateRule::sgd(0.1)).unwrap();
    let schedule = (0..10_000).map(|step| 0.1 * f64::from(step % 97) / 97.0);
    let run = schedule.chain([0.7]).fold(thirds(), |config, lr| config.with_lr(lr).unwrap());
    assert_eq!(rates(&run), rates(&thirds().with_lr(0.7).unwrap()));
}

#[test]
fn a_group_given_while_the_plan_has_a_rate_of_0_keeps_its_own() {
    let config = config(UpdateRule::sgd(0.0)).with_group(["b"], UpdateRule::sgd(0.25)).unwrap();
    assert_eq!(config.groups()[0].ratio, None);
    let later = config.with_lr(0.5).unwrap().with_lr(0.125).unwrap();
    assert_eq!(rates(&later), [0.125_f64, 0.25, 0.125].map(f64::to_bits));
}

#[test]
fn a_frozen_group_stays_frozen_whatever_the_schedule_does() {
    let frozen = config(UpdateRule::sgd(0.5)).with_group(["b"], UpdateRule::sgd(0.0)).unwrap();
    let warmed = frozen.with_lr(0.0).unwrap().with_lr(0.25).unwrap();
    assert_eq!((warmed.rule_for("a").lr(), warmed.rule_for("b").lr()), (0.25, 0.0));
}

#[test]
fn the_rate_of_one_group_is_set_alone_and_later_schedules_keep_its_new_ratio() {
    let set = grouped().with_group_lr(1, 1.0).unwrap();
    assert_eq!(rates(&set), [0.5_f64, 0.25, 1.0].map(f64::to_bits));
    assert_eq!(
        rates(&set.clone().with_lr(0.25).unwrap()),
        [0.25_f64, 0.125, 0.5].map(f64::to_bits)
    );
    let unknown = set.clone().with_group_lr(2, 1.0).unwrap_err().to_string();
    assert_eq!(unknown, "`group` is 2, and has to be the place of a group of `with_group`, from 0");
    assert_eq!(set.with_group_lr(0, -1.0).unwrap_err().name, "lr");
}

#[test]
fn a_group_that_is_given_again_replaces_the_earlier_one() {
    let again = |config: OptimizerConfig, names: &[&str], lr| {
        config.with_group(names.iter().copied(), UpdateRule::sgd(lr)).unwrap()
    };
    let config = (0..100).fold(grouped(), |config, _| again(config, &["c"], 0.75));
    assert_eq!(rates(&config), [0.5_f64, 0.25, 0.75].map(f64::to_bits));
    assert_eq!(config.groups()[1].parameters, ["c"], "in its place");
    // The last that was given decides over `c`, as ever.
    let config = (0..100).fold(config, |config, _| again(config, &["b", "c"], 0.125));
    assert_eq!(rates(&config), [0.5_f64, 0.125, 0.125].map(f64::to_bits));
    assert_eq!(config.groups().len(), 2);
}

#[test]
fn a_name_that_no_parameter_has_is_refused() {
    let strange = [
        config(UpdateRule::sgd(0.1)).with_group(["a", "typo"], UpdateRule::sgd(0.2)).unwrap(),
        config(UpdateRule::sgd(0.1)).with_storage(DType::F16).keep(["typo"]),
    ];
    for config in strange {
        let made =
            Optimizer::new(binade_core::HostDevice::new(), params(DType::F32, SET), config.clone());
        let error = made.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with("the configuration names `typo`"), "{error}");
        let mut optimizer = optimizer(params(DType::F32, SET), grouped());
        let error = optimizer.set_config(config).unwrap_err();
        assert!(error.to_string().starts_with("the configuration names `typo`"), "{error}");
        assert_eq!(optimizer.config(), &grouped());
        assert_eq!(stepped(&mut optimizer), [0.5, 0.75, 0.875]);
    }
}

#[test]
fn what_is_kept_is_stored_in_f32_whenever_it_was_named() {
    let (config, kept) = (|| config(UpdateRule::sgd(0.1)), ["norm"]);
    let (after, before) = (
        config().with_storage(DType::F16).keep(kept),
        config().keep(kept).with_storage(DType::F16),
    );
    assert_eq!(after, before);
    let dtypes = |config: &OptimizerConfig| {
        ["weight", "norm"].map(|name| config.dtype_of(name, DType::BF16))
    };
    assert_eq!(dtypes(&after), [DType::F16, DType::F32]);
    let storage = Storage { dtype: Some(DType::F16), keep_f32: vec!["norm".into()] };
    assert_eq!(after.storage, storage);
    assert_eq!(dtypes(&config().keep(kept)), [DType::BF16, DType::F32]);
    assert_eq!(dtypes(&after.keep(["weight"])), [DType::F32; 2]);
}

#[test]
fn a_plan_is_refused_where_a_rule_would_be() {
    let bad = UpdateRule::sgd(-1.0);
    assert_eq!(OptimizerConfig::new(bad).unwrap_err().name, "lr");
    assert_eq!(grouped().with_group(["a"], bad).unwrap_err().name, "lr");
    assert_eq!(grouped().with_lr(f64::NAN).unwrap_err().name, "lr");
}

#[test]
fn a_learning_rate_that_moved_keeps_the_state() {
    for (rule, dtype) in all_rules().into_iter().flat_map(|rule| ALL.map(|dtype| (rule, dtype))) {
        let mut optimizer = optimizer(params(dtype, SET), config(rule));
        stepped(&mut optimizer);
        let before = bits(&optimizer);
        optimizer.set_config(config(rule.with_lr(0.5))).unwrap();
        assert_eq!(bits(&optimizer), before, "{rule:?} {dtype}");
        optimizer.set_config(config(rule)).unwrap();
        let mut straight = crate::common::optimizer(params(dtype, SET), config(rule));
        stepped(&mut straight);
        assert_eq!(stepped(&mut optimizer), stepped(&mut straight), "{rule:?} {dtype}");
        assert_eq!(bits(&optimizer), bits(&straight), "{rule:?} {dtype}");
    }
}

#[test]
fn a_rule_that_needs_other_moments_is_refused_by_name_and_nothing_has_changed() {
    let rules = rules();
    for (had, wanted) in rules.iter().flat_map(|had| rules.iter().map(move |wanted| (had, wanted)))
    {
        let mut optimizer = optimizer(params(DType::BF16, SET), config(*had));
        stepped(&mut optimizer);
        let before = bits(&optimizer);
        let mixed = config(*had).with_group(["c", "b"], *wanted).unwrap();
        let set = optimizer.set_config(mixed.clone());
        assert_eq!(set.is_ok(), had.moments() == wanted.moments(), "{had:?} {wanted:?}");
        assert_eq!(bits(&optimizer), before);
        if let Err(error) = set {
            let text = error.to_string();
            assert!(text.starts_with("`b` has ") && text.contains("the new rule needs"), "{text}");
            assert_eq!(optimizer.config(), &config(*had));
        }
    }
}

#[test]
fn a_rule_that_keeps_a_norm_does_not_follow_one_that_keeps_a_moment_alone() {
    for rules in
        [[UpdateRule::lion(0.1), UpdateRule::novograd(0.1)], [0.1, 0.2].map(UpdateRule::novograd)]
    {
        for [had, wanted] in [rules, [rules[1], rules[0]]] {
            let mut optimizer = optimizer(params(DType::F32, SET), config(had));
            stepped(&mut optimizer);
            let is_set = optimizer.set_config(config(wanted)).is_ok();
            assert_eq!(is_set, had.keeps_norm() == wanted.keeps_norm(), "{had:?} {wanted:?}");
        }
    }
}

#[test]
fn a_refused_rule_is_told_by_its_moments_or_else_by_its_running_norm() {
    let novograd = UpdateRule::novograd(0.1);
    for (had, told) in [
        (UpdateRule::adam(0.1), "`a` has 2 moments and the new rule needs 1;"),
        (UpdateRule::lion(0.1), "`a` is moved by `lion` and the new rule is `novograd`, and one"),
    ] {
        let mut optimizer = optimizer(params(DType::F32, SET), config(had));
        let error = optimizer.set_config(config(novograd)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with(told), "{error}");
    }
}

#[test]
fn another_store_or_storage_is_refused_in_a_running_optimizer() {
    let f16 = || config(UpdateRule::sgd(0.5)).with_storage(DType::F16);
    let stored = || f16().keep(["a", "b"]);
    let mut optimizer = optimizer(params(DType::F32, SET), stored());
    let others = [
        stored().with_store(MasterStore::NoMaster),
        stored().with_storage(DType::BF16),
        f16().keep(["a"]),
        config(UpdateRule::sgd(0.25)),
    ];
    for other in others {
        let error = optimizer.set_config(other).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(
            error.to_string().contains("none of them can change in a running optimizer"),
            "{error}"
        );
        assert_eq!(optimizer.config(), &stored());
    }
    let turned = f16().keep(["b", "a"]).with_lr(0.25).unwrap();
    optimizer.set_config(turned).unwrap();
    assert_eq!(stepped(&mut optimizer), [0.75; 3]);
}

/// A parameter and its master.
fn at(saved: &SavedParameter) -> (&RawTensor, Option<&(StateKind, RawTensor)>) {
    (&saved.value, saved.kept.iter().find(|(kind, _)| *kind == StateKind::Master))
}

#[test]
fn a_rate_of_0_freezes_and_a_later_one_thaws() {
    for (rule, dtype) in all_rules().into_iter().flat_map(|rule| ALL.map(|dtype| (rule, dtype))) {
        let frozen = config(rule).with_group(["b"], rule.with_lr(0.0)).unwrap();
        let mut optimizer = optimizer(params(dtype, SET), frozen);
        let before = bits(&optimizer);
        stepped(&mut optimizer);
        let after = bits(&optimizer);
        assert_eq!(at(&after[1]), at(&before[1]), "{rule:?} {dtype}");
        assert_ne!(at(&after[0]), at(&before[0]), "{rule:?} {dtype}");
        optimizer.set_config(config(rule)).unwrap();
        assert!(stepped(&mut optimizer)[1] < 1.0, "{rule:?} {dtype}");
    }
}

#[test]
fn a_partition_has_each_parameter_once_with_those_that_its_rule_moves() {
    let rates = [0.5, 0.25, 0.125, 0.0625].map(UpdateRule::sgd);
    let groups = config(rates[3]).with_group(["c", "a", "x"], rates[0]).unwrap();
    let groups = groups.with_group(["d"], rates[1]).unwrap();
    let groups = groups.with_group(["a", "b"], rates[2]).unwrap();
    let names = ["a", "b", "c", "e", "f"];
    let parts = groups.partition(names);
    assert_eq!(parts, [vec!["c"], vec![], vec!["a", "b"], vec!["e", "f"]]);
    for (part, rule) in parts.iter().zip(rates) {
        assert!(part.iter().all(|name| *groups.rule_for(name) == rule));
    }
    assert_eq!(config(rates[0]).partition(names), [names]);
    assert_eq!(groups.partition([]), [[""; 0]; 4]);
}

/// A rule whose last constant changes at the count of its second hyper-parameter.
struct Late;

impl CustomRule for Late {
    const NAME: &'static str = "late";
    const HYPER_PARAMETERS: &'static [&'static str] = &["lr", "change"];
    const MOMENTS: &'static [&'static str] = &[];

    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn constants(hyper: &[f64], applied: u64) -> [f32; 9] {
        let is_late = applied as f64 >= hyper[1];
        [f32::from(applied == 0), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, f32::from(is_late)]
    }

    fn element(_: &[f32; 9], _: f32, _: &mut ElementState) -> bool {
        false
    }
}

#[test]
fn constants_that_change_after_many_steps_are_refused_by_a_device_that_counts() {
    let checked =
        |change| config(Late::rule([0.1, change])).check_kernels("cuda", |_| true, |_| true);
    for change in [5.0, 500.0, 5e3, 5e11] {
        let counted = ConfigError::Counted { device: "cuda", rule: "late" };
        assert_eq!(checked(change), Err(counted), "{change}");
    }
    assert_eq!(checked(1e15), Ok(()));
}

#[test]
fn a_refusal_of_a_rule_tells_what_cuda_needs_for_it() {
    let own = ", or give the device its kernel, as by `binade_cuda::add_rule`";
    for (device, rule, end) in
        [("cuda", Late::rule([0.1, 1e15]), own), ("wgpu", Late::rule([0.1, 1e15]), "")]
    {
        let error =
            config(rule).check_kernels(device, |_| false, |_| true).unwrap_err().to_string();
        let end = format!("or train on a device in host memory{end}");
        assert!(error.ends_with(&end), "{error}");
    }
}
