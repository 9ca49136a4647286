//! Output of `replay`, and its exit code.

use std::process::Command;

const GOOD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/golden/gradscaler/gs_7.json.gz");

/// Returns what it printed line by line, and its exit code.
fn replay(files: &[&str]) -> (Vec<String>, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_replay")).args(files).output();
    let output = output.expect("the binary was built for this test");
    let printed = String::from_utf8_lossy(&output.stdout).lines().map(Into::into).collect();
    (printed, output.status.code())
}

#[test]
fn what_passes_is_counted_and_nothing_else_said() {
    assert_eq!(replay(&[GOOD, GOOD]), (vec!["2 passed, 0 failed".into()], Some(0)));
}

#[test]
fn a_failure_is_one_line_and_an_exit_code() {
    let (printed, code) =
        replay(&[GOOD, "absent.json", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")]);
    assert_eq!((printed.len(), code), (3, Some(1)), "{printed:?}");
    assert!(printed[0].starts_with("absent.json: cannot be read"), "{printed:?}");
    assert!(printed[1].contains("Cargo.toml: is not a recording"), "{printed:?}");
    assert_eq!(printed[2], "1 passed, 2 failed");
}

#[test]
fn nothing_to_replay_is_a_mistake() {
    assert_eq!(replay(&[]), (vec![], Some(2)));
}
