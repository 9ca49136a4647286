//! Recorded runs of torch replay to the bit, and a recording with one thing changed does not.

use crate::common::{failure, golden, path};
use binade_tests::replay::{file, replay};
use serde_json::{Value, json};

fn gs(n: usize) -> Value {
    golden(&format!("gradscaler/gs_{n}.json.gz"))
}

#[test]
fn every_gradscaler_run_replays_to_the_bit() {
    let files: Vec<_> =
        std::fs::read_dir(path("gradscaler")).unwrap().map(Result::unwrap).collect();
    assert!(files.len() >= 18, "{} recordings", files.len());
    for entry in files {
        let outcome = file(&entry.path()).and_then(|recording| replay(&recording));
        assert!(outcome.is_ok(), "{:?}: {outcome:?}", entry.file_name());
    }
}

#[test]
fn every_optimizer_step_replays_to_the_bit() {
    let table = golden("optim.json.gz");
    let steps = |case: &Value| case["variants"]["forloop_ieee"].as_array().unwrap().len();
    let cases = table["cases"].as_array().unwrap();
    assert_eq!((cases.len(), cases.iter().map(steps).sum::<usize>()), (20, 1000));
    assert_eq!(replay(&table).unwrap().compared["steps of optimizers"], 1000);
}

#[test]
fn two_hundred_steps_of_adagrad_replay_to_the_bit() {
    let replayed = replay(&golden("adagrad.json.gz")).unwrap();
    assert_eq!(replayed.compared["steps of optimizers"], 4 * 200);
}

/// JSON pointers of all that an event recorded, as opposed to what it was given.
fn recorded(run: &Value) -> Vec<String> {
    let mut leaves = Vec::new();
    for (i, event) in run["events"].as_array().unwrap().iter().enumerate() {
        let call = event["op"].as_str().unwrap();
        for (key, value) in event.as_object().unwrap() {
            let given = matches!(
                key.as_str(),
                "op" | "opt" | "in" | "dtype" | "new_scale" | "fresh" | "slot" | "returned"
            ) || call == "set_grads";
            if !given {
                collect(value, format!("/events/{i}/{key}"), &mut leaves);
            }
        }
    }
    leaves
}

fn collect(value: &Value, at: String, leaves: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(i, item)| collect(item, format!("{at}/{i}"), leaves));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, item)| collect(item, format!("{at}/{key}"), leaves));
        }
        // The decimal text beside the bits of a scalar is for people.
        _ if at.ends_with("/dec") => {}
        _ => leaves.push(at),
    }
}

/// Returns the value with its lowest bit flipped, or otherwise the least changed.
fn flipped(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(set) => json!(!set),
        Value::Number(n) if n.is_f64() => json!(n.as_f64().unwrap() * 2.0),
        Value::Number(n) => {
            n.as_u64().map_or_else(|| json!(n.as_i64().unwrap() ^ 1), |n| json!(n ^ 1))
        }
        Value::String(text) if text.starts_with("0x") => {
            json!(format!("{:#018x}", u64::from_str_radix(&text[2..], 16).unwrap() ^ 1))
        }
        Value::String(text) => json!(format!("{text}?")),
        other => panic!("{other} is no leaf"),
    }
}

/// Writes the decimal beside a scalar's bits, which alone would give the change away.
fn rewrite_decimal(run: &mut Value, at: &str) {
    if let Some(scalar) = at.strip_suffix("/f64") {
        let scalar = run.pointer_mut(scalar).unwrap();
        let bits = u64::from_str_radix(&scalar["f64"].as_str().unwrap()[2..], 16).unwrap();
        scalar["dec"] = json!(f64::from_bits(bits).to_string());
    }
}

/// Returns true if the bits are of a NaN that stays one when its lowest bit is flipped.
fn is_nan(value: &Value) -> bool {
    let f32_nan = |bits| u32::try_from(bits).is_ok_and(|bits| f32::from_bits(bits ^ 1).is_nan());
    let f64_nan = |text: &str| text.starts_with("0x7ff8") || text.starts_with("0xfff8");
    value.as_u64().is_some_and(f32_nan) || value.as_str().is_some_and(f64_nan)
}

#[test]
fn every_recorded_value_is_looked_at() {
    for n in [0, 4, 7, 101] {
        let mut run = gs(n);
        let leaves = recorded(&run);
        // Every leaf of the smallest run, and a sample of the others'.
        let stride = (leaves.len() / 600).max(1) | 1;
        for at in leaves.iter().step_by(stride) {
            let leaf = run.pointer_mut(at).unwrap();
            if is_nan(leaf) {
                continue;
            }
            let kept = std::mem::replace(leaf, flipped(leaf));
            rewrite_decimal(&mut run, at);
            assert!(replay(&run).is_err(), "gs_{n}: {at} was {kept}, and nobody noticed");
            *run.pointer_mut(at).unwrap() = kept;
            rewrite_decimal(&mut run, at);
        }
        replay(&run).unwrap();
    }
}

#[test]
fn one_changed_value_is_named_with_its_place_and_both_values() {
    for (name, at, place) in [
        (
            "optim",
            "/cases/9/variants/forloop_ieee/49/2/param/4",
            "case 9 (adam), step 49: parameter 2[4] is ",
        ),
        (
            "optim",
            "/cases/9/variants/forloop_ieee/49/2/exp_avg_sq/4",
            "case 9 (adam), step 49: exp_avg_sq of parameter 2[4] is ",
        ),
        (
            "adagrad",
            "/cases/3/variants/forloop_ieee/199/1/sum/4",
            "case 3 (adagrad), step 199: sum of parameter 1[4] is ",
        ),
        ("clip", "/cases/3/after/0/0", "case 3 (value to 1e0): gradient 0[0] is "),
        ("clip", "/cases/4/after/0/0", "case 4 (norm "),
        ("jmp", "/traces/2/steps/1/scale", "trace 2, step 1: scale[0] is "),
        ("jmp", "/traces/7/steps/1/counter", "trace 7, step 1: the counter is "),
        ("jmp", "/traces/20/steps/1/finite", "trace 20, step 1: "),
        ("jmp", "/traces/20/steps/1/unscaled/2", "trace 20, step 1: unscaled[2] is "),
        ("scalers/torch", "/runs/0/scale/3", "run 0 of torch: [2]: the scale is "),
        ("scalers/paddle", "/runs/2/scale/40", "run 2 of paddle: [39]: the scale is "),
        ("scalers/deepspeed_0.19.8", "/runs/9/scale/20", "run 9 of deepspeed: [19]: the scale is "),
        ("scalers/apex", "/runs/9/scale/20", "run 9 of apex: [19]: the scale is "),
    ] {
        let mut recording = golden(&format!("{name}.json.gz"));
        let leaf = recording.pointer_mut(at).unwrap();
        *leaf = flipped(leaf);
        let error = failure(&recording);
        assert!(error.starts_with(place) && error.contains(", and was "), "{name}{at}: {error}");
    }
}
