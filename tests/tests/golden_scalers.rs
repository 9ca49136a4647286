//! Every library's recorded scale is moved as the library moved it, and its saved states lead on as they did there.

use crate::common::golden;
use binade_tests::replay::{Difference, Notes, replay};
use serde_json::{Value, json};

fn recorded(name: &str) -> Value {
    golden(&format!("scalers/{name}.json.gz"))
}

fn notes(name: &str) -> Notes {
    replay(&recorded(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// How many runs and saved states of `library` were compared to their end.
fn compared(notes: &Notes, library: &str) -> (usize, usize) {
    let of = |what: String| notes.compared.get(&what).copied().unwrap_or_default();
    (
        of(format!("runs of {library}")),
        of(format!("states of {library} imported, exported and resumed")),
    )
}

#[test]
fn every_run_moves_the_scale_as_the_library_did_and_every_saved_state_leads_on() {
    for (name, library, runs, states, beyond) in [
        ("torch", "torch", 48, 306, 30),
        ("keras", "keras", 12, 83, 1),
        ("tf_keras", "tf_keras", 6, 41, 1),
        ("paddle", "paddle", 24, 167, 1),
        ("deepspeed_0.16.0", "deepspeed", 27, 126, 0),
        ("deepspeed_0.19.8", "deepspeed", 35, 179, 0),
        ("apex", "apex", 87, 83, 1),
        ("jmp", "jmp", 24, 0, 0),
        ("fairseq", "fairseq", 28, 0, 0),
    ] {
        let notes = notes(name);
        assert_eq!(compared(&notes, library), (runs, states), "{name}\n{notes}");
        let skipped: usize = notes.skipped.values().sum();
        assert_eq!(skipped, beyond, "{name}\n{notes}");
    }
}

#[test]
fn where_the_library_raises_the_run_has_diverged() {
    for (name, raised) in [("deepspeed_0.16.0", 105), ("deepspeed_0.19.8", 110), ("fairseq", 9)] {
        assert_eq!(
            notes(name).compared["runs that end where the library raises"],
            raised,
            "{name}"
        );
    }
    let mut runs = recorded("fairseq");
    let run = runs["runs"].as_array().unwrap().iter().position(|run| !run["raised"].is_null());
    let run = &mut runs["runs"][run.unwrap()];
    // One overflow fewer, and nothing to raise for.
    let quiet = run["overflow"].as_str().unwrap().replace('x', ".");
    run["overflow"] = json!(quiet);
    assert!(replay(&runs).is_err());
}

#[test]
fn deepspeed_since_0_18_differs_by_the_first_good_step_and_before_by_none() {
    let how = Difference::FirstGoodStepCounts;
    assert!(!notes("deepspeed_0.16.0").differences.contains_key(&how));
    assert!(notes("deepspeed_0.19.8").differences[&how] > 1000);
    // By the rule of before, its runs are not what was recorded.
    let mut newer = recorded("deepspeed_0.19.8");
    newer["version"] = json!("0.16.0");
    assert!(replay(&newer).unwrap_err().to_string().contains("the scale is "));
}

#[test]
fn a_prediction_is_the_binade_of_theirs_but_for_few_on_the_edge() {
    let notes = notes("log_max");
    let compared = notes.compared["exponents predicted as by log_max"];
    let edge = "exponents of the neighbouring binade, on the edge of it";
    let neighbours = notes.compared.get(edge).copied().unwrap_or_default();
    // All within a hundredth of an edge would be one of fifty.
    assert!(compared > 5000 && neighbours * 200 <= compared, "{notes}");
}

#[test]
fn an_overflow_counts_as_the_ceiling_and_not_as_two_to_its_power() {
    let mut runs = recorded("log_max");
    assert_eq!(notes("log_max").differences[&Difference::OverflowIsTheCeiling], 1);
    let literal = runs["runs"].as_array().unwrap().iter().position(|run| {
        run["rule"]["overflow_counts"] == json!(65536.0)
            && run["overflow"].as_str().unwrap().contains('x')
    });
    let run = &mut runs["runs"][literal.unwrap()];
    let first = run["overflow"].as_str().unwrap().find('x').unwrap();
    // What the source says holds the scale at its floor; a run told to be of ours cannot follow.
    assert_eq!(run["scale"][first + 1], json!(1.0));
    run["rule"]["overflow_counts"] = json!(16.0);
    let error = replay(&runs).unwrap_err().to_string();
    assert!(error.contains("]: the scale is 2^") && error.ends_with(", and was 2^0"), "{error}");
}

#[test]
fn every_number_of_a_saved_state_is_looked_at() {
    // Of DeepSpeed one with a hysteresis of 4, which decides something.
    for (name, run) in [
        ("torch", 0),
        ("keras", 0),
        ("tf_keras", 0),
        ("paddle", 0),
        ("deepspeed_0.16.0", 4),
        ("deepspeed_0.19.8", 4),
        ("apex", 0),
    ] {
        let mut runs = recorded(name);
        let state = runs["runs"][run]["saved"][2]["state"].clone();
        let state = if name == "apex" { state["loss_scaler0"].clone() } else { state };
        let within = if name == "apex" { "/loss_scaler0" } else { "" };
        for (key, value) in state.as_object().unwrap() {
            let at = format!("/runs/{run}/saved/2/state{within}/{key}");
            let leaf = runs.pointer_mut(&at).unwrap();
            *leaf = changed(value);
            assert!(replay(&runs).is_err(), "{name}: {at} was {value}, and nobody noticed");
            *runs.pointer_mut(&at).unwrap() = value.clone();
        }
        replay(&runs).unwrap();
    }
}

/// Another value of the same type.
fn changed(value: &Value) -> Value {
    match value {
        Value::Bool(set) => json!(!set),
        Value::Number(n) if n.is_i64() => json!(n.as_i64().unwrap() + 1),
        Value::Number(n) => json!(n.as_f64().unwrap() * 4.0),
        Value::Array(items) => Value::Array(items.iter().map(changed).collect()),
        other => panic!("{other} is no number"),
    }
}
