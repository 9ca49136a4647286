//! Equal seeds give equal bits, on any number of threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use binade_example_digits::record::Run;
use common::only;
use rayon::ThreadPoolBuilder;

/// Returns all figures of a run but its time, as JSON writes them: floats print with every digit they need.
fn record(run: Run) -> (Vec<u32>, String) {
    let bits = run.losses.iter().map(|loss| loss.to_bits()).collect();
    (bits, serde_json::to_string(&Run { seconds: 0.0, ..run }).unwrap())
}

fn with_threads(threads: usize, line: &str) -> (Vec<u32>, String) {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    record(pool.install(|| only(line)))
}

#[test]
fn the_same_seed_gives_the_same_record_and_another_another() {
    let line = "--level O2 --dtype f16 --seed 5";
    assert_eq!(record(only(line)), record(only(line)));
    assert_ne!(record(only(line)).0, record(only("--level O2 --dtype f16 --seed 6")).0);
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for line in [
        "--level O0",
        "--level O1 --dtype f16",
        "--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2",
        "--level O2 --dtype f16 --model cnn --batch 100",
    ] {
        assert_eq!(with_threads(1, line), with_threads(3, line), "{line}");
    }
}
