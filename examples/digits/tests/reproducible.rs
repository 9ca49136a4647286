//! Equal seeds give equal bits, on any number of threads.

use crate::common::only;
use binade_example_digits::record::Run;
use rayon::ThreadPoolBuilder;

/// Returns all figures of a run but its time.
fn record(line: &str) -> Run {
    Run { seconds: 0.0, ..only(line) }
}

fn with_threads(threads: usize, line: &str) -> Run {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| record(line))
}

#[test]
fn the_same_seed_gives_the_same_record_and_another_another() {
    let line = "--level O2 --dtype f16 --seed 5";
    assert_eq!(record(line), record(line));
    assert_ne!(record(line).losses, record("--level O2 --dtype f16 --seed 6").losses);
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
