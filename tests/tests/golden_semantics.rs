//! Facts about torch are run where we have what they are about, and a fact that is another one is named.

use crate::common::{failure, golden};
use binade_tests::replay::{Difference, replay};
use serde_json::{Value, json};

const RUN: &str = "facts that hold here";

fn facts() -> Value {
    golden("semantics.json.gz")
}

#[test]
fn every_fact_is_run_held_elsewhere_another_on_purpose_or_about_what_is_not_here() {
    let notes = replay(&facts()).unwrap();
    assert_eq!(notes.compared[RUN], 44);
    assert_eq!(notes.compared["facts that a test named in docs/semantics.md holds"], 12);
    assert_eq!(notes.differences[&Difference::Semantics], 14);
    let skipped: Vec<_> = notes.skipped.iter().map(|(why, count)| (why.as_str(), *count)).collect();
    assert_eq!(
        skipped,
        [("facts about what is not here, for the reasons in docs/semantics.md", 19)]
    );
}

/// Returns the value with another number, word or entry.
fn changed(value: &Value) -> Value {
    match value {
        Value::Null => json!(0),
        Value::Bool(b) => json!(!b),
        Value::Number(n) => json!(n.as_f64().unwrap() + 1.0),
        Value::String(text) => json!(format!("un{text}")),
        Value::Array(items) => Value::Array(items.iter().map(changed).collect()),
        Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), changed(item))).collect(),
    }
}

#[test]
fn every_fact_that_is_run_and_is_another_is_named() {
    let mut tried = 0;
    for (name, fact) in facts()["facts"].as_object().unwrap() {
        let is_run = replay(&json!({"facts": {name: fact}})).unwrap().compared.contains_key(RUN);
        if is_run {
            let error = failure(&json!({"facts": {name: changed(fact)}}));
            assert!(error.starts_with(&format!("fact '{name}': ")), "{error}");
            tried += 1;
        }
    }
    assert_eq!(tried, 44);
}
