//! Contents of the file of `--json`, and the times at which it is written.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_example_digits::record::Record;
use binade_example_digits::session::{self, SessionError};
use common::{only, short};
use serde_json::Value;
use std::path::PathBuf;

/// Returns a path for each test, in the folder that cargo keeps for them.
fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn read(path: &PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Returns words in alphabetical order, in which `Value` keeps them.
fn sorted(words: &str) -> Vec<&str> {
    let mut words: Vec<_> = words.split_whitespace().collect();
    words.sort_unstable();
    words
}

#[test]
fn the_keys_are_these_and_no_others() {
    let record = Record { runs: vec![only("--level O1 --dtype f16 --inject-overflow 2")] };
    let json = serde_json::to_value(&record).unwrap();
    assert_eq!(keys(&json), ["runs"]);
    let run = &json["runs"][0];
    let all = "level dtype device seed epochs accuracy final_loss losses steps scale bytes seconds";
    assert_eq!(keys(run), sorted(all));
    assert_eq!(keys(&run["steps"]), sorted("attempted applied skipped"));
    assert_eq!(keys(&run["scale"]), sorted("initial final min max history"));
    let bytes = "parameters masters gradients optimizer activations_peak";
    assert_eq!(keys(&run["bytes"]), sorted(bytes));
}

#[test]
fn figures_are_those_of_the_run() {
    let run = only("--level O1 --dtype f16 --inject-overflow 2 --seed 9");
    let json = serde_json::to_value(&run).unwrap();
    assert_eq!(
        (&json["level"], &json["dtype"], &json["device"]),
        (&"O1".into(), &"f16".into(), &"cpu".into())
    );
    assert_eq!((&json["seed"], &json["epochs"]), (&9.into(), &2.into()));
    assert_eq!(json["losses"].as_array().unwrap().len(), 2);
    assert_eq!(json["final_loss"], json["losses"][1]);
    assert_eq!(json["steps"]["skipped"], 1);
    assert_eq!(json["scale"]["initial"], 65536.0);
    assert_eq!(json["scale"]["final"], 32768.0);
    assert_eq!(json["scale"]["history"].as_array().unwrap().len(), 14);
}

#[test]
fn the_file_holds_every_run() {
    let path = path("two.json");
    let mut args = short("--level O2 --epochs 1 --batch 1437");
    args.json = Some(path.clone());
    let mut record = Record::default();
    session::run(&args, &mut record).unwrap();
    let written: Value = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
    assert_eq!(read(&path), written);
    assert_eq!(read(&path)["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_trained() {
    let path = path("no such folder").join("runs.json");
    let mut args = short("--level O0");
    args.json = Some(path.clone());
    let mut record = Record::default();
    let refused = session::run(&args, &mut record).unwrap_err();
    assert!(matches!(refused, SessionError::Write(_)));
    let text = refused.to_string();
    assert!(text.starts_with(&format!("cannot write {}: ", path.display())), "{text}");
    assert!(text.ends_with("; give --json a file in a folder that is there"), "{text}");
    assert!(record.runs.is_empty());
}
