//! The CPU's benchmark binary, at tiny sizes, alone and beside what answers in PyTorch's place.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs};

fn cpu_speed(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cpu_speed")).args(["--dry-run"]).args(args).output().unwrap()
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cpu_speed").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

#[test]
fn every_row_works_and_all_files_are_written() {
    let out = folder("all");
    let run = cpu_speed(&["--threads", "2", "--out", out.to_str().unwrap()]);
    assert!(run.status.success(), "{run:?}");
    let figures: Value =
        serde_json::from_str(&fs::read_to_string(out.join("figures.json")).unwrap()).unwrap();
    let rows = figures["rows"].as_array().unwrap();
    let table = fs::read_to_string(out.join("README.md")).unwrap();
    assert_eq!(table.lines().filter(|line| line.starts_with("| ")).count(), rows.len() + 1);
    for row in rows {
        assert!(row["ours"][0].as_f64().is_some_and(|seconds| seconds > 0.0), "{row}");
    }
    for plot in ["parameters.svg", "tensors.svg"] {
        assert!(fs::read_to_string(out.join(plot)).unwrap().contains("step, ms"), "{plot}");
    }
}

#[test]
fn a_group_that_is_not_there_is_refused_with_those_that_are() {
    let run = cpu_speed(&["--only", "step,stop"]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(
        told.starts_with(
            "error: --only stop: there is no such group; there are unscale, clip_norm, "
        ),
        "{told}"
    );
    assert!(!run.status.success() && run.stdout.is_empty());
}

/// Returns a program in Python's place, which runs `answers`, a part of a shell script with the request in `$line`.
#[cfg(unix)]
fn python(name: &str, answers: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(name);
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("python");
    fs::write(&program, format!("#!/bin/sh\nwhile read -r line; do\n{answers}\ndone\n")).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    program
}

#[cfg(unix)]
#[test]
fn a_peer_is_asked_for_the_same_work_and_its_error_is_told() {
    let answers = r#"case "$line" in *version*) echo '{"done":"9.9"}';; *prepare*) echo '{"done":true}';; *) echo '{"done":2.5}';; esac"#;
    let works = python("works", answers);
    let run =
        cpu_speed(&["--only", "matmul", "--peer", "torch", "--python", works.to_str().unwrap()]);
    let table = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        run.status.success() && table.contains("PyTorch 9.9.") && table.contains("| 2500.00 ms |"),
        "{run:?}"
    );

    let fails = python(
        "fails",
        r#"case "$line" in *version*) echo '{"done":"9.9"}';; *) echo '{"error":"no such kind"}';; esac"#,
    );
    let run =
        cpu_speed(&["--only", "matmul", "--peer", "torch", "--python", fails.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(told.contains("matmul f32 8³: PyTorch at ") && told.contains("no such kind"), "{told}");
}
