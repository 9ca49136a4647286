//! Recorded clips replay to the bit, our norm is the exact one, and what differs on purpose says so by name.

use crate::common::{failure, golden, num};
use binade_tests::replay::{Difference, replay};
use serde_json::{Value, json};

fn clips() -> Value {
    golden("clip.json.gz")
}

/// Of [3, 4] by its L2 norm, as torch would record it but for what is changed.
fn three_and_four(change: impl Fn(&mut Value)) -> Value {
    let bits = |values: [f32; 2]| values.map(f32::to_bits);
    let coef = 2.5_f32 * (1.0 / (5.0 + 1e-6));
    let mut case = json!({
        "op": "norm", "dtype": "float32", "norm_type": "2.0", "max_norm": num(2.5), "error_if_nonfinite": false,
        "grads": [bits([3.0, 4.0]), null], "after": [bits([3.0 * coef, 4.0 * coef]), null],
        "total": 5_f32.to_bits(), "total_dtype": "float32", "coef": coef.to_bits(), "exact_total": num(5.0),
    });
    change(&mut case);
    json!({"cases": [case]})
}

#[test]
fn every_clip_replays_and_every_total_is_the_exact_one() {
    let notes = replay(&clips()).unwrap();
    assert_eq!(notes.compared["totals within n 2^-24 of the exact one"], 47);
    assert_eq!(notes.compared["sets of gradients clipped by the recorded coefficient"], 97);
    assert_eq!(notes.compared["sets of gradients clipped by value"], 26);
}

#[test]
fn what_differs_on_purpose_is_told_by_name_and_what_is_not_offered_is_counted() {
    let notes = replay(&clips()).unwrap();
    let met: Vec<_> = notes.differences.iter().map(|(how, count)| (how.row().0, *count)).collect();
    let expected = [
        ("norm-plus-1e-6", 10),
        ("squares-in-f32", 6),
        ("non-finite-total", 5),
        ("error-if-nonfinite", 1),
        ("limit-not-positive", 19),
        ("nothing-to-clip", 1),
    ];
    assert_eq!(met, expected);
    assert_eq!(notes.skipped.values().sum::<usize>(), 56);
    let told = notes.to_string();
    assert!(told.contains("17 SKIPPED: totals of norms of order 3.0, not offered"), "{told}");
}

#[test]
fn an_error_is_one_only_where_our_verdict_is_raised() {
    let raised = |order: &str| {
        let msg = format!(
            "The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be clipped."
        );
        three_and_four(move |case| {
            let case = case.as_object_mut().unwrap();
            case.retain(|key, _| !matches!(key.as_str(), "total" | "coef" | "exact_total"));
            case["after"] = case["grads"].clone();
            case["error_if_nonfinite"] = json!(true);
            case.insert("err".into(), json!({"type": "RuntimeError", "msg": msg}));
        })
    };
    assert!(failure(&raised("2.0")).ends_with("the total is 5e0, and had raised"));
    assert!(failure(&raised("3.0")).ends_with("nothing here raises `The total norm of order 3.0 for gradients from `parameters` is non-finite, so it cannot be clipped.`"));
    let mut infinite = raised("2.0");
    for key in ["grads", "after"] {
        infinite["cases"][0][key][0][0] = json!(f32::INFINITY.to_bits());
    }
    let notes = replay(&infinite).unwrap();
    assert_eq!(notes.differences[&Difference::ErrorIfNonFinite], 1);
    infinite["cases"][0]["after"][0][1] = json!(0);
    assert!(failure(&infinite).contains("gradient 0[1] is 4e0"));
}

#[test]
fn a_limit_that_f16_cannot_hold_is_taken_and_changes_nothing() {
    let bits = [1.0, -60_000.0, f32::INFINITY].map(|x| half::f16::from_f32(x).to_bits());
    let beyond = |limit: f64, after: [u16; 3]| {
        let msg = "value cannot be converted to type c10::Half without overflow";
        json!({"cases": [{
            "op": "value", "dtype": "float16", "clip_value": num(limit), "grads": [bits], "after": [after],
            "err": {"type": "RuntimeError", "msg": msg},
        }]})
    };
    let finite = [bits[0], bits[1], bits[1] & 0x7FFF];
    let error = failure(&beyond(1e30, finite));
    assert!(error.contains("gradient 0[2] is inf"), "{error}");
    let notes = replay(&beyond(1e30, bits)).unwrap();
    assert_eq!(notes.differences[&Difference::LimitBeyondType], 1);
    assert!(failure(&beyond(1.0, bits)).contains("it returned, and had raised value cannot"));
}
