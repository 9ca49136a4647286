//! Parameters that join a running optimizer, and values that leave it.

use crate::common::{
    Host, Optimizer, all_rules, bits, config, fine, grads, of_one, optimizer, params, round,
    stores_and_types, values,
};
use binade_core::{DType, Error as _, ErrorKind, Named, Optimizer as _};
use binade_master_weights::{HostMasters, MasterStore, OptimizerConfig, UpdateRule};

const OLD: [(&str, &[f32]); 1] = [("a", &[1.0])];
const NEW: [(&str, &[f32]); 2] = [("b", &[2.0]), ("c", &[3.0])];
const ALL_THREE: [(&str, &[f32]); 3] = [("a", &[0.5]), ("b", &[0.5]), ("c", &[0.5])];

fn stepped(optimizer: &mut Optimizer, set: &[(&'static str, &'static [f32])]) {
    optimizer.step(grads(DType::F32, set.iter().copied()), &fine()).unwrap();
}

#[test]
fn parameters_that_join_begin_like_any_others_and_change_nothing_for_them() {
    for (store, dtype) in stores_and_types() {
        for rule in all_rules() {
            let config = || config(rule).with_store(store);
            let mut joined = optimizer(params(dtype, OLD), config());
            stepped(&mut joined, &ALL_THREE[..1]);
            let before = bits(&joined);
            joined.join(params(dtype, NEW), config()).unwrap();
            assert_eq!(bits(&joined)[..1], before, "{rule:?} {store:?} {dtype}");
            // The same three from the start, of which two had no gradient in the first step.
            let mut always = optimizer(params(dtype, OLD.into_iter().chain(NEW)), config());
            stepped(&mut always, &ALL_THREE[..1]);
            for _ in 0..2 {
                stepped(&mut joined, &ALL_THREE);
                stepped(&mut always, &ALL_THREE);
            }
            assert_eq!(bits(&joined), bits(&always), "{rule:?} {store:?} {dtype}");
            let applied = |name| joined.masters().get(name).unwrap().applied;
            assert_eq!(["a", "b", "c"].map(applied), [3, 2, 2]);
        }
    }
}

#[test]
fn a_group_may_name_what_joins_and_storage_lowers_it() {
    let stored = config(UpdateRule::sgd(1.0)).with_storage(DType::F16);
    let mut optimizer = optimizer(params(DType::F32, OLD), stored.clone());
    let config = stored.with_group(["b"], UpdateRule::sgd(0.5)).unwrap();
    let exact: [(&str, &[f32]); 1] = [("b", &[1.0 + 1e-4])];
    optimizer.join(params(DType::F32, exact), config.clone()).unwrap();
    assert_eq!(optimizer.config(), &config);
    assert_eq!(optimizer.params[1].value.data, [round(DType::F16, 1.0 + 1e-4)]);
    assert_eq!(optimizer.export_f32().unwrap()[1].value, [1.0 + 1e-4]);
    stepped(&mut optimizer, &ALL_THREE[..2]);
    let at = |i: usize| optimizer.params[i].value.data[0];
    assert_eq!([at(0), at(1)], [0.5, 0.75]);
}

#[test]
fn a_join_that_does_not_fit_is_refused_by_name_and_nothing_has_changed() {
    let base = || config(UpdateRule::sgd(0.5));
    let twice: [(&str, &[f32]); 2] = [("b", &[1.0]), ("b", &[1.0])];
    let typo = base().with_group(["typo"], UpdateRule::sgd(0.1)).unwrap();
    let refused: [(Vec<Named<crate::common::Host>>, OptimizerConfig, &str); 6] = [
        (params(DType::BF16, ALL_THREE), base(), "`a` is in the optimizer already"),
        (params(DType::BF16, twice), base(), "two parameters are called `b`"),
        (params(DType::BF16, NEW), typo, "the configuration names `typo`"),
        (
            params(DType::BF16, NEW),
            base().with_store(MasterStore::Kahan),
            "the new configuration has another",
        ),
        (
            params(DType::BF16, NEW),
            config(UpdateRule::adam(0.1)),
            "`a` has 0 moments and the new rule needs 2",
        ),
        (
            vec![Named::new("b", crate::common::Host { dtype: DType::I32, data: vec![1.0] })],
            base(),
            "`b`: parameters are trained in",
        ),
    ];
    let mut optimizer = optimizer(params(DType::BF16, OLD), base());
    let before = bits(&optimizer);
    for (more, config, begin) in refused {
        let error = optimizer.join(more, config).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(error.to_string().starts_with(begin), "{error}");
        assert_eq!((bits(&optimizer), optimizer.config()), (before.clone(), &base()));
        stepped(&mut crate::common::optimizer(optimizer.params.clone(), base()), &ALL_THREE[..1]);
    }
    optimizer.join(params(DType::BF16, NEW), base()).unwrap();
    stepped(&mut optimizer, &ALL_THREE);
}

#[test]
fn an_exported_value_is_what_the_next_step_starts_from() {
    let exact = values(100, 9);
    for (store, dtype) in stores_and_types() {
        let config = config(UpdateRule::sgd(0.1)).with_store(store).with_storage(dtype);
        let optimizer = of_one(DType::F32, &exact, config);
        let exported = optimizer.export_f32().unwrap();
        assert_eq!(&*exported[0].name, "w");
        let low: Vec<f32> = exact.iter().map(|x| round(dtype, *x)).collect();
        match store {
            MasterStore::Copy | MasterStore::Remainder => assert_eq!(exported[0].value, exact),
            MasterStore::Kahan | MasterStore::ScaledF16 => {
                let near = |(x, y): (&f32, &f32)| (x - y).abs() <= 2.0_f32.powi(-9);
                assert!(exported[0].value.iter().zip(&exact).all(near), "{store:?} {dtype}");
            }
            _ => assert_eq!(exported[0].value, low, "{store:?} {dtype}"),
        }
    }
}

#[test]
fn a_run_started_again_from_exported_values_has_the_same_masters() {
    for store in [MasterStore::Copy, MasterStore::Remainder] {
        let config = || config(UpdateRule::sgd(0.1)).with_store(store).with_storage(DType::BF16);
        let mut run = of_one(DType::F32, &values(50, 1), config());
        let grad = |seed| grads(DType::F32, [("w", &values(50, seed)[..])]);
        run.step(grad(2), &fine()).unwrap();
        let exported = run.export_f32().unwrap().remove(0).value;
        let mut again = of_one(DType::F32, &exported, config());
        run.step(grad(3), &fine()).unwrap();
        again.step(grad(3), &fine()).unwrap();
        assert_eq!(again.export_f32().unwrap()[0].value, run.export_f32().unwrap()[0].value);
        assert_eq!(again.params[0].value, run.params[0].value, "{store:?}");
    }
}

#[test]
fn a_parameter_that_was_widened_since_is_exported_as_it_is() {
    let config = config(UpdateRule::sgd(0.1)).with_store(MasterStore::NoMaster);
    let mut optimizer = of_one(DType::BF16, &[1.0], config);
    optimizer.params[0].value = Host::new(DType::F32, &[0.1]);
    assert_eq!(optimizer.export_f32().unwrap()[0].value, [0.1]);
}

#[test]
fn a_parameter_that_is_kept_elsewhere_is_declared_by_its_length() {
    let mut masters = HostMasters::new(&config(UpdateRule::adam(0.1)), ["w"].into_iter()).unwrap();
    masters.declare(&"w".into(), 7, DType::BF16).unwrap();
    let slot = masters.get("w").unwrap();
    assert_eq!((slot.len, slot.stored, masters.bytes()), (7, DType::BF16, (0, 0)));
}
