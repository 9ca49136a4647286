//! The conformance binary and its files.

use binade_bench::{Device, report};
use binade_conformance::{Arithmetic, Refusal, Report, Runner, Subject};
use binade_core::DType;
use serde_json::Value;
use std::process::Command;

/// Stores bytes, each f16 one higher than it was given, and can do nothing else.
struct Storage;

impl Subject for Storage {
    type Tensor = Vec<u8>;

    fn name(&self) -> &'static str {
        "<storage>"
    }

    fn arithmetic(&self) -> Arithmetic {
        Arithmetic::IEEE
    }

    fn from_bits(&self, bits: &[u8], dtype: DType, _: &[usize]) -> Result<Vec<u8>, Refusal> {
        let shift = u8::from(dtype == DType::F16);
        Ok(bits.iter().map(|byte| byte.wrapping_add(shift)).collect())
    }

    fn to_bits(&self, tensor: &Vec<u8>) -> Result<Vec<u8>, Refusal> {
        Ok(tensor.clone())
    }
}

/// The cases that store, and some that need more.
fn stored() -> Report {
    Runner::new().only("every_pattern_").run(&Storage)
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
}

#[test]
fn json_has_the_counts_the_skips_and_the_rows_and_no_more() {
    let report = stored();
    let json: Value =
        serde_json::from_str(&report::json(std::slice::from_ref(&report)).unwrap()).unwrap();
    assert_eq!(keys(&json), ["device", "failed", "passed", "rows", "skipped"]);
    assert_eq!(json["device"], "<storage>");
    assert_eq!((&json["passed"], &json["failed"]), (&Value::from(4), &Value::from(1)));
    assert_eq!(keys(&json["skipped"][0]), ["case", "reason"]);
    assert_eq!(json["skipped"].as_array().map(Vec::len), Some(report.skipped().len()));
    let row = &json["rows"][0];
    assert_eq!(keys(row), ["agreement", "cases", "dtype", "operation", "status", "worst"]);
    assert_eq!((&row["operation"], &row["status"]), (&Value::from("bits"), &Value::from("ok")));
}

#[test]
fn several_devices_are_a_list() {
    let reports = Device::All.run(&Runner::new().only("bits/f16")).unwrap();
    let json: Value = serde_json::from_str(&report::json(&reports).unwrap()).unwrap();
    let names: Vec<&Value> = json.as_array().into_iter().flatten().map(|d| &d["device"]).collect();
    assert_eq!(names, ["cpu", "deferred"]);
}

#[test]
fn html_shows_failures_and_skips_and_no_markup_of_theirs() {
    let page = report::html(&[stored()]);
    assert!(page.contains("&lt;storage&gt;"), "{page}");
    assert!(page.contains("4 passed, 1 failed"));
    assert!(page.contains("bits/f16/every_pattern"));
    assert!(page.contains("cast is not supported"));
    assert!(!page.contains("<storage>") && !page.contains("src="));
}

fn conformance(args: &[&str]) -> std::process::Output {
    let mut binary = Command::new(env!("CARGO_BIN_EXE_conformance"));
    binary.env_remove("BINADE_CASE").env_remove("BINADE_REQUIRE").args(args).output().unwrap()
}

#[test]
fn a_run_that_passes_ends_well_and_writes_what_it_was_asked_for() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [json, html] = ["report.json", "report.html"].map(|name| folder.join(name));
    let (json, html) = (json.to_str().unwrap(), html.to_str().unwrap());
    let run = conformance(&["--device", "cpu", "--only", "bits/", "--json", json, "--html", html]);
    assert!(run.status.success(), "{run:?}");
    let text = std::fs::read_to_string(json).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["passed"], 5);
    assert!(std::fs::read_to_string(html).unwrap().contains("5 passed"));
}

#[test]
fn a_run_in_which_nothing_ran_ends_badly() {
    assert!(!conformance(&["--device", "cpu", "--only", "no such case"]).status.success());
}

#[test]
fn a_device_that_is_not_there_is_refused_with_those_that_are() {
    let run = conformance(&["--device", "abacus"]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && told.contains("deferred"), "{told}");
}

/// The CPU's own run is a test of the kit; that of CUDA is a stage of CI.
#[test]
fn the_device_that_runs_late_keeps_every_contract() {
    let reports = Device::Deferred.run(&Runner::from_env().require("deferred")).unwrap();
    let [report] = &reports[..] else { panic!("one device was asked for: {reports:?}") };
    println!("{report}");
    report.assert_success();
}
