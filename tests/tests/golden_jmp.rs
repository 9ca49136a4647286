//! Recorded runs of jmp's loss scale replay where powers of two can express them.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which end with the test")]

mod common;

use binade_tests::replay::{Difference, Kind, replay};
use common::{failure, golden, num};
use serde_json::{Value, json};

fn jmp() -> Value {
    golden("jmp.json.gz")
}

/// A trace without gradients: whether they were finite, and the scale and counter afterwards.
fn trace(init: f32, factor: u32, min: f32, steps: &[(bool, f32, u32)]) -> Value {
    let step = |(finite, scale, counter): &(bool, f32, u32)| json!({"grads": [], "unscaled": [], "finite": finite, "scale": scale.to_bits(), "counter": counter});
    let config =
        json!({"init": num(init.into()), "factor": factor, "min": num(min.into()), "period": 2});
    let steps: Vec<_> = steps.iter().map(step).collect();
    json!({"policies": {}, "traces": [{"config": config, "steps": steps}]})
}

#[test]
fn every_trace_that_binades_can_express_replays_and_the_others_are_counted() {
    let (kind, notes) = replay(&jmp()).unwrap();
    assert_eq!(kind, Kind::Jmp);
    assert_eq!(notes.compared["whole traces of jmp's loss scale"], 17);
    assert_eq!(notes.compared["steps of jmp's loss scale"], 1022);
    assert_eq!(notes.skipped["traces whose factor or floor is not in binades"], 22);
    assert_eq!(notes.compared["policy strings"], 25);
    let times = |how| notes.differences[&how];
    assert_eq!(
        (times(Difference::OverflowAtTheFloor), times(Difference::ScaleBeyond2To126)),
        (56, 1)
    );
}

#[test]
fn one_changed_value_is_named_with_its_trace_and_step() {
    for (key, changed) in [
        ("scale", json!(1_f32.to_bits())),
        ("counter", json!(7)),
        ("finite", json!(false)),
        ("unscaled", json!([0, 0, 1])),
    ] {
        let mut traces = jmp();
        traces["traces"][2]["steps"][1][key] = changed;
        let error = failure(&traces);
        assert!(error.starts_with("trace 2, step 1: ") && error.contains(", and was "), "{error}");
    }
}

#[test]
fn a_policy_string_that_means_something_else_is_named() {
    for (text, recorded, told) in [
        (
            "c=f16",
            json!({"param": "float32", "compute": "float16", "output": "float32", "str": ""}),
            "the policy is ",
        ),
        (
            "c=f16",
            json!({"param": "float32", "compute": "float16", "output": "float16", "str": ""}),
            "as text it is ",
        ),
        (
            "c=f16",
            json!({"param": "f8", "compute": "float16", "output": "float16", "str": ""}),
            "the recording itself is wrong: ",
        ),
        (
            "c=f16",
            json!({"err": "ValueError: Unknown key 'c' in 'c=f16' should be"}),
            "the refusal is None",
        ),
        (
            "C=f16",
            json!({"err": "ValueError: Unknown dtype 'C' must be"}),
            "the refusal is Some(\"Unknown key 'C'\")",
        ),
    ] {
        let error = failure(&json!({"traces": [], "policies": {text: recorded}}));
        assert!(error.starts_with(&format!("policy string '{text}': {told}")), "{error}");
    }
}

#[test]
fn a_scale_that_is_no_power_of_two_replays_as_long_as_it_reaches_no_floor() {
    let good = [(true, 3.0, 1), (true, 6.0, 0), (false, 3.0, 0)];
    let (_, notes) = replay(&trace(3.0, 2, 1.0, &good)).unwrap();
    assert_eq!(notes.compared["whole traces of jmp's loss scale"], 1);
    let wrong = failure(&trace(3.0, 2, 1.0, &[(true, 3.0, 1), (true, 7.0, 0)]));
    assert!(wrong.starts_with("trace 0, step 1: scale[0] is 6e0 "), "{wrong}");
    let (_, notes) = replay(&trace(3.0, 2, 1.0, &[(false, 1.5, 0), (false, 1.0, 0)])).unwrap();
    assert_eq!(notes.skipped["traces whose factor or floor is not in binades"], 1);
}

#[test]
fn beyond_our_ceiling_only_what_jmp_does_is_let_pass() {
    let top = 2_f32.powi(126);
    for (init, factor, then) in [(top, 2, 2.0 * top), (top / 2.0, 8, top / 2.0)] {
        let (_, notes) =
            replay(&trace(init, factor, 1.0, &[(true, init, 1), (true, then, 0)])).unwrap();
        assert_eq!(notes.differences[&Difference::ScaleBeyond2To126], 1);
        let wrong = trace(init, factor, 1.0, &[(true, init, 1), (true, f32::INFINITY, 0)]);
        assert!(failure(&wrong).starts_with("trace 0, step 1: scale[0] is "));
    }
}
