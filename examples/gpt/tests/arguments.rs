//! Mistakes on the command line: each is refused before anything is trained, with the value and what to do.

use crate::common::{file, parse};
use binade_example_gpt::args::Args;
use binade_example_gpt::session;

/// Asserts the session's refusal of `args`, and that nothing ran.
fn unfollowed(args: &Args, expected: &str) {
    let mut runs = Vec::new();
    let refused = session::run(args, &mut runs).expect_err(expected).to_string();
    assert!(refused.starts_with(expected) && runs.is_empty(), "{expected}: {refused}");
}

#[test]
fn values_that_no_argument_takes() {
    for (argument, value, told) in [
        ("--layers <N>", "0", "0 is not in 1..=64"),
        ("--context <N>", "1", "1 is not in 2..=8192"),
        ("--steps <N>", "-1", "-1 is not in 1..=10000000"),
        ("--temperature <X>", "0", "take a finite number above 0, such as 0.5, or leave it out"),
        ("--dropout <P>", "1", "take a probability from 0 to below 1, such as 0.1"),
        ("--dropout <P>", "NaN", "take a probability from 0 to below 1, such as 0.1"),
    ] {
        let line = format!("{} {value}", argument.split(' ').next().unwrap());
        let refused = parse(&line).expect_err(&line).to_string();
        let told = format!("error: invalid value '{value}' for '{argument}': {told}");
        assert_eq!(refused.lines().next(), Some(&*told), "{line}");
    }
}

#[test]
fn arguments_that_do_not_go_together() {
    unfollowed(
        &parse("--width 100 --heads 8").unwrap(),
        "--width 100: 8 heads rotate pairs of features, which need a multiple of 16; take 112",
    );
    unfollowed(&parse("--steps 1 --svg none/a.svg").unwrap(), "--svg none/a.svg: ");
    for flag in ["--save a", "--resume a"] {
        let told = "a checkpoint is of one run, and 4 are asked for; take one --level";
        unfollowed(&parse(&format!("--level all {flag}")).unwrap(), &format!("{flag}: {told}"));
    }
}

#[test]
fn a_text_that_is_missing_no_text_or_too_short() {
    let [short, bytes, gone] = ["short.txt", "bytes.txt", "gone.txt"].map(file);
    std::fs::write(&short, "some words").unwrap();
    std::fs::write(&bytes, [0xff, 0xfe]).unwrap();
    for (text, told) in [
        (short, "it has 10 characters, and --context 64 needs 650; take a longer text or"),
        (bytes, "stream did not contain valid UTF-8; check that"),
        (gone, ""),
    ] {
        let told = format!("--text {}: {told}", text.display());
        unfollowed(&Args { text: Some(text), ..parse("").unwrap() }, &told);
    }
}
