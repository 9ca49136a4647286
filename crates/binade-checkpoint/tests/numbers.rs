//! Non-finite numbers in a file: refused as it is read, by the field and the value, for every field.

use crate::common::{Setting, Training, resummed};
use binade_checkpoint::{Checkpoint, FormatError};
use binade_cpu::Cpu;
use binade_master_weights::{Sgd, UpdateRule};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Text before the index in its key's value.
const BEFORE: &str = "checkpoint 1 crc32 00000000 ";

/// Returns a run's file within a window whose first micro-batch overflowed: every field that has a number has one.
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

/// Returns a number by its bits, as the file has it.
fn number(x: f64) -> Value {
    json!({"f64": format!("{:016x}", x.to_bits()), "reads": x.to_string()})
}

/// Collects every number with a fraction, by its place: as JSON points, and as errors say.
fn numbers(value: &Value, [pointer, path]: [String; 2], all: &mut Vec<[String; 2]>) {
    match value {
        Value::Object(fields) if fields.contains_key("f64") => all.push([pointer, path]),
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

/// Returns the errors of reading with `value` in place of each number, beside the number's path.
fn refusals(bytes: &[u8], value: &Value) -> Vec<(String, Option<FormatError>)> {
    let (index, mut all) = (index(bytes), Vec::new());
    numbers(&index, [String::new(), String::new()], &mut all);
    let refusal = |[pointer, path]: [String; 2]| {
        let mut index = index.clone();
        *index.pointer_mut(&pointer).unwrap() = value.clone();
        (path, with(bytes, &index).err())
    };
    all.into_iter().map(refusal).collect()
}

fn field(path: &str) -> &str {
    path.rsplit('.').next().unwrap()
}

#[test]
fn an_infinity_or_a_nan_in_any_field_is_named() {
    let mut fields = BTreeSet::new();
    for bytes in files() {
        assert!(with(&bytes, &index(&bytes)).is_ok());
        for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
            for (path, refusal) in refusals(&bytes, &number(x)) {
                fields.insert(field(&path).to_owned());
                let expected = FormatError::NotFinite { field: path, value: x.to_string() };
                assert_eq!(refusal, Some(expected));
            }
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
fn a_number_beyond_f32_is_named_where_the_field_is_one() {
    let narrow = ["magnitude", "significand"];
    for bytes in files() {
        for (path, refusal) in refusals(&bytes, &number(1e300)) {
            let wanted = FormatError::NotFinite { field: path.clone(), value: "1e+300".into() };
            let wanted = narrow.contains(&field(&path)).then_some(wanted);
            assert_eq!(refusal, wanted, "{path}");
        }
    }
}

/// Infinities are written there as words; no writer puts bits or numbers in their place.
#[test]
fn what_may_be_infinite_is_so_in_words_alone() {
    let [bytes, _] = files();
    for pointer in ["verdict/overflow/scaled", "verdict/overflow/unscaled", "verdict/norm"] {
        let pointer = format!("/windows/window/sum/{pointer}");
        let set = |value: Value| {
            let mut index = index(&bytes);
            *index.pointer_mut(&pointer).unwrap() = value;
            with(&bytes, &index)
        };
        assert!(set("inf".into()).is_ok(), "{pointer}");
        for value in [number(f64::NAN), number(1e300), json!(1e300)] {
            let refusal = set(value).unwrap_err();
            let named = matches!(
                &refusal,
                FormatError::NotFinite { field, .. } if pointer == format!("/{}", field.replace('.', "/"))
            );
            assert!(named, "{pointer}: {refusal}");
        }
    }
}

/// Other writers of JSON put such an infinity.
#[test]
fn null_or_a_word_for_a_number_is_told_with_its_field() {
    for bytes in files() {
        for (value, said) in [(Value::Null, "null"), (json!("inf"), "inf")] {
            for (path, refusal) in refusals(&bytes, &value) {
                match refusal {
                    None => assert_eq!((field(&path), &value), ("ratio", &Value::Null)),
                    Some(refusal) => {
                        let text = refusal.to_string();
                        assert!(text.contains(&path) && text.contains(said), "{path}: {text}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_error_reads_as_a_sentence() {
    let [bytes, _] = files();
    let refusals = refusals(&bytes, &number(f64::INFINITY));
    let lr = refusals.iter().find(|(path, _)| path == "optimizers.model.plan.rule.adam.lr");
    let text = lr.and_then(|(_, refusal)| refusal.as_ref()).unwrap().to_string();
    assert_eq!(
        text,
        "`optimizers.model.plan.rule.adam.lr` in its index is inf, and has to be a finite number in reach of its type; nothing \
         in Binade writes such a file"
    );
}
