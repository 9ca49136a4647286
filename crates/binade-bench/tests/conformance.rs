//! The conformance binary and its files. The kit's own tests check the contents.

use serde_json::Value;
use std::process::Command;

fn conformance(args: &[&str]) -> std::process::Output {
    let mut binary = Command::new(env!("CARGO_BIN_EXE_conformance"));
    binary.env_remove("BINADE_CASE").env_remove("BINADE_REQUIRE").args(args).output().unwrap()
}

#[test]
fn a_run_that_passes_ends_well_and_writes_what_it_was_asked_for() {
    let json = concat!(env!("CARGO_TARGET_TMPDIR"), "/report.json");
    let run = conformance(&["--device", "cpu", "--only", "bits/", "--json", json]);
    assert!(run.status.success(), "{run:?}");
    let text = std::fs::read_to_string(json).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["passed"], 5);
}

#[test]
fn a_run_in_which_nothing_ran_ends_badly() {
    assert!(!conformance(&["--device", "cpu", "--only", "no such case"]).status.success());
}

#[test]
fn tf32_is_refused_where_nobody_multiplies_by_it() {
    let run = conformance(&["--device", "cpu", "--only", "matmul/f32", "--tf32"]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(!run.status.success() && told.contains("cuda and ptx"), "{told}");
}
