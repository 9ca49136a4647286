//! Resumed runs: each ends like the uninterrupted one, to the bit; a file of another run is refused in one line.

mod common;

use binade_checkpoint::previous;
use binade_cpu::Cpu;
use binade_example_digits::args::Args;
use binade_example_digits::config;
use binade_example_digits::record::Run;
use binade_example_digits::table;
use binade_example_digits::train;
use common::{digits, parse, short};
use indicatif::ProgressBar;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns a path for this test alone, in an empty folder.
fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("digits").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder.join("run.safetensors")
}

fn args(line: &str, file: &Path) -> Args {
    // A path may have spaces, and `short` splits at them.
    Args { checkpoint: Some(file.into()), ..short(&format!("--checkpoint file {line}")) }
}

fn try_run(args: &Args) -> Result<Run, String> {
    let [setting] = config::settings(args)[..] else { panic!("one run: {args:?}") };
    let run = train::run(&Cpu, args, setting, &digits(args), &ProgressBar::hidden());
    run.map_err(|error| error.to_string())
}

fn on_cpu(line: &str, file: &Path) -> Run {
    try_run(&args(line, file)).unwrap()
}

/// Returns all figures of a run but its time.
fn record(run: Run) -> String {
    serde_json::to_string(&Run { seconds: 0.0, ..run }).unwrap()
}

/// Asserts that a run of three epochs, stopped by `interrupt` and resumed, equals one without interruption.
fn equals_the_uninterrupted(name: &str, line: &str, interrupt: impl Fn(&str, &Path)) {
    let (whole, stopped) = (file(&format!("{name}-whole")), file(&format!("{name}-stopped")));
    let expected = on_cpu(&format!("{line} --epochs 3"), &whole);
    interrupt(line, &stopped);
    let resumed = on_cpu(&format!("{line} --epochs 3 --resume"), &stopped);
    assert!(resumed.resumed.is_some(), "{line}");
    assert_eq!(record(resumed), record(expected), "{line}");
    // The files hold weights, masters, moments, counts, scale and losses.
    assert!(
        fs::read(stopped).unwrap() == fs::read(whole).unwrap(),
        "{line}: the last files differ"
    );
}

const LINES: [&str; 6] = [
    "--level O0 --optimizer sgd",
    "--level O1 --dtype f16 --optimizer adam --inject-overflow 2",
    "--level O2 --dtype f16 --growth-interval 4 --clip-norm 0.5 --inject-overflow 3",
    "--level O2 --dtype bf16 --optimizer amsgrad --accumulate 2",
    "--level O3 --dtype f16",
    "--model cnn --batch 100 --level O2 --dtype f16",
];

#[test]
fn a_run_stopped_after_an_epoch_ends_as_the_one_that_was_not() {
    for (number, line) in LINES.into_iter().enumerate() {
        equals_the_uninterrupted(&format!("epoch{number}"), line, |line, file| {
            on_cpu(&format!("{line} --epochs 1"), file);
        });
    }
}

#[test]
fn a_run_stopped_within_an_epoch_ends_as_the_one_that_was_not() {
    for (number, line) in LINES.into_iter().enumerate() {
        equals_the_uninterrupted(&format!("step{number}"), line, |line, file| {
            on_cpu(&format!("{line} --epochs 2 --checkpoint-every 1"), file);
            // The file before the last was made within the second epoch.
            fs::rename(previous(file), file).unwrap();
        });
    }
}

#[test]
fn a_run_that_nobody_watches_is_resumed_too() {
    let (whole, stopped) = (file("unwatched-whole"), file("unwatched-stopped"));
    let line = "--level O2 --dtype f16 --inject-overflow 9 --unwatched";
    on_cpu(&format!("{line} --epochs 2"), &whole);
    on_cpu(&format!("{line} --epochs 1 --checkpoint-every 3"), &stopped);
    on_cpu(&format!("{line} --epochs 2 --resume"), &stopped);
    assert!(fs::read(stopped).unwrap() == fs::read(whole).unwrap());
}

#[test]
fn the_one_before_is_told_where_the_last_is_torn() {
    let file = file("torn");
    on_cpu("--level O2 --dtype f16 --epochs 2", &file);
    fs::write(&file, &fs::read(&file).unwrap()[..1000]).unwrap();
    let run = on_cpu("--level O2 --dtype f16 --epochs 2 --resume", &file);
    let told = run.resumed.clone().unwrap();
    let expected = format!(
        "was resumed after step 7 from {}, since {}: it is torn",
        previous(&file).display(),
        file.display()
    );
    assert!(told.starts_with(&expected), "{told}");
    let text = table::table(&[run]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(&format!("O2 f16 {expected}")), "{text}");
}

/// Returns the refusal to resume the run of `file` as one of `line`.
fn refused(file: &Path, line: &str) -> String {
    let before = fs::read(file).unwrap();
    let error = try_run(&args(&format!("{line} --resume"), file)).expect_err(line);
    assert!(fs::read(file).unwrap() == before, "{line}: the file has changed");
    error
}

#[test]
fn a_run_of_something_else_is_refused_by_its_argument() {
    let file = file("else");
    on_cpu("--level O2 --dtype f16", &file);
    for (line, expected) in [
        ("--level O1 --dtype f16", "--level: found O2, expected O1; "),
        ("--level O2 --dtype bf16", "--dtype: found f16, expected bf16; "),
        ("--level O2 --dtype f16 --model cnn", "--model: found mlp, expected cnn; "),
        ("--level O2 --dtype f16 --optimizer sgd", "--optimizer: found adamw, expected sgd; "),
        ("--level O2 --dtype f16 --batch 16", "--batch: found 32, expected 16; "),
        ("--level O2 --dtype f16 --lr 0.1", "--lr: found 0.004, expected 0.1; "),
        ("--level O2 --dtype f16 --clip-norm 1", "--clip-norm: found none, expected 1; "),
        ("--level O2 --dtype f16 --seed 1", "--data: found 200 images of crc32 "),
        ("--level O2 --dtype f16 --accumulate 2", "--accumulate: found 1, expected 2; "),
        ("--level O2 --dtype f16 --epochs 1", "--epochs: found 2 over, expected 1 or fewer; "),
        ("--level O2 --dtype f16 --init-scale 2^4", "the rule of scaler `loss`: found LossScale"),
    ] {
        let error = refused(&file, line);
        assert!(error.starts_with(&format!("--resume: {expected}")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_told_in_one_line() {
    let file = file("none");
    let line = "--level O2 --dtype f16 --resume";
    let error = try_run(&args(line, &file)).unwrap_err();
    let (last, before) = (file.display(), previous(&file));
    let expected = format!(
        "--resume: there is no checkpoint {last}, and none in {}: give the file of an earlier run, or start anew",
        before.display()
    );
    assert_eq!(error, expected);
}

#[test]
fn a_file_of_something_else_is_told_in_one_line() {
    let file = file("notes");
    fs::write(&file, "no checkpoint at all").unwrap();
    let error = try_run(&args("--level O2 --dtype f16 --resume", &file)).unwrap_err();
    assert!(error.starts_with(&format!("--resume: {}: it is no safetensors file", file.display())));
    let error = try_run(&args("--level O2 --dtype f16", &file)).unwrap_err();
    assert!(error.starts_with("--checkpoint: cannot keep the last of "), "{error}");
}

#[test]
fn resuming_needs_a_file() {
    for line in ["--resume", "--checkpoint-every 5"] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains("--checkpoint <FILE>"), "{error}");
    }
}
