//! Recorded runs of jmp's loss scale replay: by our rule where powers of two can express them, else by jmp's.

use crate::common::{failure, golden, num};
use binade_tests::replay::{Difference, replay};
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
fn every_trace_replays_by_our_rule_or_for_a_reason_by_jmps() {
    let notes = replay(&jmp()).unwrap();
    assert_eq!(notes.compared["whole traces of jmp's loss scale"], 17);
    assert_eq!(notes.compared["steps of jmp's loss scale"], 1022);
    assert_eq!(notes.compared["steps of jmp's loss scale by jmp's own rule"], 40 * 60 - 1022);
    assert_eq!(notes.compared["casts by a policy string"], 5);
    assert_eq!(notes.compared["facts about jmp that hold here"], 1);
    assert_eq!(notes.compared["policy strings"], 25);
    let times: Vec<_> =
        notes.differences.iter().map(|(how, count)| (how.row().0, *count)).collect();
    let expected = [
        ("overflow-at-the-floor", 56),
        ("scale-beyond-2^126", 1),
        ("subnormals-flushed", 165),
        ("any-factor", 22),
        ("limit-lost-under-jit", 1),
        ("f64-is-never-cast", 1),
    ];
    assert_eq!(times, expected);
    let skipped: Vec<_> = notes.skipped.iter().map(|(why, count)| (why.as_str(), *count)).collect();
    let expected = [
        ("casts of what is no element type here", 2),
        ("gradients unscaled by what is no scale here", 82),
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn any_factor_grows_after_a_period_and_divides_down_to_any_floor() {
    let steps = [
        (true, 10.0, 1),
        (true, 30.0, 0),
        (false, 10.0, 0),
        (false, 10.0 / 3.0, 0),
        (false, 2.5, 0),
    ];
    let notes = replay(&trace(10.0, 3, 2.5, &steps)).unwrap();
    assert_eq!(notes.compared["steps of jmp's loss scale by jmp's own rule"], 5);
    let wrong = failure(&trace(10.0, 3, 2.5, &[(true, 10.0, 1), (true, 30.0, 2)]));
    assert!(wrong.starts_with("trace 0, step 1: the counter is 0, and was 2"), "{wrong}");
    let stays = [(true, 3e38, 1), (true, 3e38, 0), (true, 3e38, 1)];
    replay(&trace(3e38, 3, 2.5, &stays)).unwrap();
}

#[test]
fn a_cast_or_a_fact_that_is_another_is_named() {
    let one = |key: &str, value: Value| json!({"traces": [], "policies": {}, key: value});
    for (key, value, told) in [
        (
            "cast_to_compute_f16",
            json!({"float32": "float32"}),
            "cast of float32 by 'f16': the type is F16",
        ),
        (
            "cast_to_compute_f16",
            json!({"int32": "float16"}),
            "cast of int32 by 'f16': the type is I32",
        ),
        (
            "cast_to_compute_f16",
            json!({"float64": "float64"}),
            "cast of float64 by 'f16': jmp's type is F16",
        ),
        ("facts", json!({"all_finite([])": false}), "fact 'all_finite([])': it is Bool(true)"),
        (
            "facts",
            json!({"min_loss_scale kept through flatten/unflatten (jit)": true}),
            "fact 'min_loss_scale kept through flatten/unflatten (jit)': jmp's answer is Bool(false)",
        ),
    ] {
        let error = failure(&one(key, value));
        assert!(error.starts_with(told), "{error}");
    }
    let notes = replay(&one("facts", json!({"is fast": true}))).unwrap();
    assert_eq!(notes.skipped["the fact 'is fast', which is not known here"], 1);
}

#[test]
fn a_subnormal_gradient_may_have_been_taken_for_zero_and_for_nothing_else() {
    let grads = |unscaled: f32| {
        let mut trace = trace(2_f32.powi(-10), 2, 2_f32.powi(-20), &[(true, 2_f32.powi(-10), 1)]);
        let step = &mut trace["traces"][0]["steps"][0];
        // Unscaled it is normal, and was zero before it was multiplied.
        step["grads"] = json!([(f32::MIN_POSITIVE / 16.0).to_bits(), 1_f32.to_bits()]);
        step["unscaled"] = json!([unscaled.to_bits(), 1024_f32.to_bits()]);
        trace
    };
    let notes = replay(&grads(0.0)).unwrap();
    assert_eq!(notes.differences[&Difference::SubnormalsFlushed], 1);
    let notes = replay(&grads(f32::MIN_POSITIVE * 64.0)).unwrap();
    assert!(notes.differences.is_empty(), "{notes}");
    for wrong in [-0.0, f32::MIN_POSITIVE * 32.0] {
        let error = failure(&grads(wrong));
        assert!(error.starts_with("trace 0, step 0: unscaled[0] is "), "{error}");
    }
}

#[test]
fn beyond_our_ceiling_only_what_jmp_does_is_let_pass() {
    let top = 2_f32.powi(126);
    for (init, factor, then) in [(top, 2, 2.0 * top), (top / 2.0, 8, top / 2.0)] {
        let notes = replay(&trace(init, factor, 1.0, &[(true, init, 1), (true, then, 0)])).unwrap();
        assert_eq!(notes.differences[&Difference::ScaleBeyond2To126], 1);
        let wrong = trace(init, factor, 1.0, &[(true, init, 1), (true, f32::INFINITY, 0)]);
        assert!(failure(&wrong).starts_with("trace 0, step 1: scale[0] is "));
    }
}
