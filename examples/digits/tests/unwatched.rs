//! A run that nobody watches reads nothing back: the device counts every read.

use crate::common::{digits, run, short};
use binade_conformance::counting::Counting;
use binade_cpu::Cpu;
use binade_example_digits::config;
use binade_example_digits::record::Run;
use binade_example_digits::{table, train};
use indicatif::ProgressBar;

/// Runs `line` without resolving outcomes. Returns the run, and the number of reads.
fn unwatched(line: &str) -> (Run, u64) {
    let (device, args) = (Counting::new(Cpu), short(&format!("{line} --unwatched")));
    let [setting] = config::settings(&args).try_into().unwrap();
    let bar = ProgressBar::hidden();
    let run = train::run(&device, &args, setting, &digits(&args), &bar).unwrap();
    (run, device.reads())
}

const LINES: [&str; 5] = [
    "--level O0",
    "--level O1 --dtype f16 --inject-overflow 3",
    "--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2",
    "--level O2 --dtype f16 --model cnn --batch 100",
    "--level O3 --optimizer sgd",
];

#[test]
fn no_step_reads_anything() {
    for line in LINES {
        let (_, reads) = unwatched(line);
        assert_eq!(
            reads,
            2 + 1 + 1,
            "{line}: each epoch's loss, the test's logits, the last scale"
        );
    }
}

#[test]
fn a_divergence_that_nobody_watched_is_told() {
    let (run, _) = unwatched("--level O2 --dtype f16 --epochs 10 --lr 1e30");
    let report = run.outcomes.diverged.as_deref().expect("too high a rate");
    assert!(report.starts_with("step 70 skipped, "), "{report}");
    assert!(
        run.outcomes.steps.skipped >= 40 && run.final_loss().is_nan(),
        "{:?}",
        run.outcomes.steps
    );
    let text = table::table(std::slice::from_ref(&run)).replace("\n  ", " ");
    assert!(text.contains(&format!("O2 f16 diverged: {report}.")), "{text}");
    assert_eq!(unwatched("--level O2 --dtype f16").0.outcomes.diverged, None);
}

#[test]
fn watching_changes_no_bit() {
    for line in LINES {
        let args = short(line);
        let [setting] = config::settings(&args).try_into().unwrap();
        let (watched, (other, _)) = (run(&args, setting), unwatched(line));
        let bits = |run: &Run| run.losses.iter().map(|loss| loss.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&watched), bits(&other), "{line}");
        assert_eq!(
            (watched.right, watched.outcomes.steps, watched.bytes, watched.activations_peak),
            (other.right, other.outcomes.steps, other.bytes, other.activations_peak)
        );
        let ends = |run: &Run| (run.outcomes.scales[0], run.outcomes.scales.last().copied());
        assert_eq!(ends(&watched), ends(&other), "{line}");
    }
}
