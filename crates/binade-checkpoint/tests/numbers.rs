//! Non-finite numbers in a file are refused when it is read, for every field. The error names field and value.

use crate::common::{Setting, Training, resummed};
use binade_checkpoint::{Checkpoint, FormatError};
use binade_cpu::Cpu;
use binade_master_weights::{Sgd, UpdateRule};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Text before the index in its key's value.
const BEFORE: &str = "checkpoint 2 crc32 00000000 ";

/// Returns the file of a run within a window whose first micro-batch overflowed, so that every numeric field has a number.
fn file(rule: UpdateRule) -> Vec<u8> {
    let mut run = Training::new(&Cpu, &Setting { window: 3, ..Setting::new(rule) });
    let each = (0..100).map(|_| {
        run.run(1);
        run.checkpoint().to_bytes().unwrap()
    });
    let scaled = "/windows/window/sum/verdict/overflow/scaled";
    each.into_iter().find(|bytes| index(bytes).pointer(scaled).is_some()).expect("an overflow")
}

fn files() -> [Vec<u8>; 2] {
    let sgd = Sgd { lr: 0.1, momentum: 0.9, dampening: 0.1, weight_decay: 0.1, nesterov: false };
    [UpdateRule::adamw(0.01), UpdateRule::Sgd(sgd)].map(file)
}

fn index(bytes: &[u8]) -> Value {
    let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
    let index = &metadata.metadata().as_ref().unwrap()["binade"][BEFORE.len()..];
    serde_json::from_str(index).unwrap()
}

/// Reads the file with another index.
fn with(bytes: &[u8], index: &Value) -> Result<Checkpoint, FormatError> {
    let file = SafeTensors::deserialize(bytes).unwrap();
    let metadata = [("binade".to_owned(), format!("{BEFORE}{index}"))].into_iter().collect();
    let bytes = safetensors::serialize(file.iter(), Some(metadata)).unwrap();
    Checkpoint::from_bytes(&resummed(bytes))
}

/// Collects the paths of all numbers with a fraction: as JSON pointers, and as in error messages.
fn numbers(value: &Value, [pointer, path]: [String; 2], all: &mut Vec<[String; 2]>) {
    match value {
        Value::Number(number) if number.is_f64() => all.push([pointer, path]),
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                numbers(value, [format!("{pointer}/{key}"), path], all);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                numbers(item, [format!("{pointer}/{at}"), format!("{path}[{at}]")], all);
            }
        }
        _ => {}
    }
}

#[test]
fn a_number_that_no_field_can_hold_is_refused_by_its_field() {
    let mut fields = BTreeSet::new();
    for bytes in files() {
        let (whole, mut all) = (index(&bytes), Vec::new());
        assert!(with(&bytes, &whole).is_ok());
        numbers(&whole, [String::new(), String::new()], &mut all);
        for [pointer, path] in all {
            let field = path.rsplit('.').next().unwrap().to_owned();
            // JSON has no infinity and no NaN: other writers use null or a string.
            for value in [Value::Null, json!("inf"), json!(1e300)] {
                let mut changed = whole.clone();
                *changed.pointer_mut(&pointer).unwrap() = value.clone();
                let refusal = with(&bytes, &changed).map_err(|error| error.to_string());
                // A ratio may be missing, and an f64 holds the third.
                let narrow = ["magnitude", "significand"].contains(&&*field);
                if value == json!(1e300) && !narrow || value == Value::Null && field == "ratio" {
                    assert!(refusal.is_ok(), "{path} {value}");
                } else {
                    let text = refusal.unwrap_err();
                    assert!(text.contains(&format!("{path}: ")), "{path} {value}: {text}");
                }
            }
            fields.insert(field);
        }
    }
    let expected = [
        "betas[0]",
        "betas[1]",
        "dampening",
        "eps",
        "lr",
        "magnitude",
        "momentum",
        "ratio",
        "significand",
        "weight_decay",
    ];
    assert_eq!(fields.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_number_beyond_f32_is_not_read_as_an_infinity() {
    let bytes = file(UpdateRule::adamw(0.01));
    let verdict = "/windows/window/sum/verdict";
    for place in ["norm", "overflow/scaled", "overflow/unscaled"] {
        let mut changed = index(&bytes);
        *changed.pointer_mut(&format!("{verdict}/{place}")).unwrap() = json!(1e300);
        let text = with(&bytes, &changed).unwrap_err().to_string();
        assert!(text.contains(&place.replace('/', ".")) && text.contains("beyond f32"), "{text}");
    }
}
