//! State taken out of an optimizer goes back into one like it, in any order, and into no other.

use crate::common::{
    Optimizer, STORES, all_rules, config, fine, grads, optimizer, params, rules, stores_and_types,
};
use binade_core::{DType, Optimizer as _};
use binade_master_weights::{MasterStore, SavedParameter, StateKind, UpdateRule};

const SET: [(&str, &[f32]); 2] = [("w", &[0.1, -2.0, 3.5]), ("empty", &[])];

/// An optimizer that has stepped so often.
fn stepped(store: (MasterStore, DType), rule: UpdateRule, steps: usize) -> Optimizer {
    let config = config(rule).with_store(store.0);
    let mut optimizer = optimizer(params(store.1, SET), config);
    for _ in 0..steps {
        step(&mut optimizer);
    }
    optimizer
}

fn step(optimizer: &mut Optimizer) {
    let set = [("w", &[1.0, f32::MIN_POSITIVE, -0.5][..]), ("empty", &[])];
    optimizer.step(grads(DType::F32, set), &fine()).unwrap();
}

#[test]
fn an_optimizer_that_was_loaded_steps_as_the_one_that_was_saved() {
    let of = |store| all_rules().into_iter().map(move |rule| (store, rule));
    for (store, rule) in stores_and_types().flat_map(of) {
        let (saved, whole) = (stepped(store, rule, 3).save().unwrap(), stepped(store, rule, 5));
        // Started in another order, so that numbers come from what is loaded.
        let config = config(rule).with_store(store.0);
        let reversed = SET.into_iter().rev();
        let mut other = optimizer(params(store.1, reversed), config);
        other.load(&saved).unwrap();
        for _ in 0..2 {
            step(&mut other);
        }
        let mut loaded = other.save().unwrap();
        loaded.reverse();
        assert_eq!(loaded, whole.save().unwrap(), "{store:?} {rule:?}");
    }
}

#[test]
fn what_is_kept_is_told_by_kind() {
    let kinds = |store, dtype, rule| {
        let saved = stepped((store, dtype), rule, 1).save().unwrap();
        saved[0].kept.iter().map(|(kind, _)| kind.to_string()).collect::<Vec<_>>().join(" ")
    };
    let [none, one, two, three] = ["", "moment0", "moment0 moment1", "moment0 moment1 moment2"];
    let moments = [none, one, two, two, three, one, one, two, one];
    assert_eq!(rules().map(|rule| kinds(MasterStore::Copy, DType::F32, rule)), moments);
    let novograd = UpdateRule::novograd(0.1);
    assert_eq!(kinds(MasterStore::Copy, DType::F32, novograd), "norm moment0");
    let names = ["master", "", "remainder", "number", "compensation", "scaled_master exponent"];
    for (store, name) in STORES.into_iter().zip(names) {
        assert_eq!(kinds(store, DType::BF16, UpdateRule::sgd(0.1)), name);
    }
}

const F16: (MasterStore, DType) = (MasterStore::Copy, DType::F16);

/// Error of a snapshot that someone has changed; nothing has moved.
fn refused(change: impl FnOnce(&mut Vec<SavedParameter>)) -> String {
    let mut saved = stepped(F16, rules()[3], 2).save().unwrap();
    change(&mut saved);
    let mut other = stepped(F16, rules()[3], 1);
    let before = other.save().unwrap();
    let error = other.load(&saved).unwrap_err().to_string();
    assert_eq!(other.save().unwrap(), before, "{error}");
    assert_eq!(other.check_load(&saved).unwrap_err().to_string(), error);
    error
}

#[test]
fn what_is_missing_twice_there_or_strange_is_named() {
    let text = refused(|saved| saved.truncate(1));
    assert!(text.starts_with("the value of `empty`: found none, expected f16 [0]"), "{text}");
    let text = refused(|saved| saved.push(saved[0].clone()));
    assert!(text.starts_with("the second value of `w`: found f16 [3], expected none"), "{text}");
    let text = refused(|saved| {
        saved[0].kept.pop();
    });
    assert!(text.starts_with("the moment1 of `w`: found none, expected f32 [3]"), "{text}");
    let text = refused(|saved| saved[0].kept[1].0 = StateKind::Moment(2));
    assert!(text.starts_with("the moment2 of `w`: found f32 [3], expected none"), "{text}");
}
