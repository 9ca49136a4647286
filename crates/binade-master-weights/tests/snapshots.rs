//! State taken out of an optimizer goes back into one like it, in any order, and into no other.

use crate::common::{ALL, Optimizer, config, fine, grads, optimizer, params, rules};
use binade_core::{DType, Optimizer as _};
use binade_master_weights::{SavedParameter, StateKind};

const SET: [(&str, &[f32]); 2] = [("w", &[0.1, -2.0, 3.5]), ("empty", &[])];

/// An optimizer that has stepped so often.
fn stepped(dtype: DType, rule: usize, steps: usize) -> Optimizer {
    let mut optimizer = optimizer(params(dtype, SET), config(rules()[rule]));
    for _ in 0..steps {
        let set = [("w", &[1.0, f32::MIN_POSITIVE, -0.5][..]), ("empty", &[])];
        optimizer.step(grads(DType::F32, set), &fine()).unwrap();
    }
    optimizer
}

#[test]
fn an_optimizer_that_was_loaded_steps_as_the_one_that_was_saved() {
    for (dtype, rule) in ALL.into_iter().flat_map(|dtype| (0..5).map(move |rule| (dtype, rule))) {
        let (saved, whole) = (stepped(dtype, rule, 3).save().unwrap(), stepped(dtype, rule, 5));
        let mut other = stepped(dtype, rule, 1);
        other.load(&saved).unwrap();
        assert_eq!(other.save().unwrap(), saved);
        for _ in 0..2 {
            let set = [("w", &[1.0, f32::MIN_POSITIVE, -0.5][..]), ("empty", &[])];
            other.step(grads(DType::F32, set), &fine()).unwrap();
        }
        assert_eq!(other.save().unwrap(), whole.save().unwrap(), "{dtype} {:?}", rules()[rule]);
    }
}

#[test]
fn what_is_kept_is_told_by_kind() {
    let kinds = |rule, dtype| {
        let saved = stepped(dtype, rule, 1).save().unwrap();
        saved[0].kept.iter().map(|(kind, _)| kind.to_string()).collect::<Vec<_>>().join(" ")
    };
    let all = |dtype| (0..5).map(|rule| kinds(rule, dtype)).collect::<Vec<_>>();
    let moments = ["", "moment0", "moment0 moment1", "moment0 moment1", "moment0 moment1 moment2"];
    assert_eq!(all(DType::F32), moments);
    let with_master = moments.map(|moments| format!("master {moments}").trim().to_owned());
    assert_eq!(all(DType::F16), with_master);
}

#[test]
fn parameters_are_matched_by_name_in_whatever_order() {
    let mut saved = stepped(DType::F16, 4, 2).save().unwrap();
    saved.reverse();
    for one in &mut saved {
        one.kept.reverse();
    }
    let mut other = stepped(DType::F16, 4, 0);
    other.load(&saved).unwrap();
    assert_eq!(other.save().unwrap(), stepped(DType::F16, 4, 2).save().unwrap());
}

/// Error of a snapshot that someone has changed; nothing has moved.
fn refused(change: impl FnOnce(&mut Vec<SavedParameter>)) -> String {
    let mut saved = stepped(DType::F16, 3, 2).save().unwrap();
    change(&mut saved);
    let mut other = stepped(DType::F16, 3, 1);
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
