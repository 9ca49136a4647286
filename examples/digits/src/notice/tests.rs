//! Remarks on made-up tables.

use super::*;
use crate::data::Source;
use crate::record::Steps;
use binade::master_weights::Memory;

fn run(level: &str, dtype: &str, right: usize) -> Run {
    Run {
        level: level.into(),
        dtype: dtype.into(),
        right,
        bytes: Memory { parameters: 100, masters: 0, gradients: 100, optimizer: 200 },
        activations_peak: 100,
        data: Source { test: 360, ..Source::default() },
        ..Run::default()
    }
}

fn runs(full: usize, mixed: usize, low: usize) -> Vec<Run> {
    let half = Run {
        bytes: Memory { parameters: 50, masters: 200, gradients: 50, optimizer: 200 },
        activations_peak: 52,
        ..run("O2", "f16", mixed)
    };
    vec![run("O0", "f32", full), run("O1", "f16", full), half, run("O3", "f16", low)]
}

/// Returns the remarks on one line, before wrapping.
fn told(runs: &[Run]) -> String {
    notice(runs).replace("\n  ", " ")
}

#[test]
fn differences_are_counted_in_images_of_the_runs_own_test() {
    for (right, wanted) in [
        ([350, 348], "O1 and O2 are within 0.56 points of O0 (2 of 360 test images)"),
        ([350, 350], "O1 and O2 get as many test images right as O0;"),
        ([340, 345], "(5 of 360 test images)"),
    ] {
        let text = told(&runs(right[0], right[1], 300));
        assert!(text.contains(wanted), "{text}");
    }
    let mut runs = runs(9_876, 9_870, 0);
    for run in &mut runs {
        run.data.test = 10_000;
    }
    assert!(told(&runs).contains("within 0.06 points of O0 (6 of 10000 test images)"));
}

#[test]
fn memory_counts_the_masters_too_and_o3_falls_behind_only_where_it_does() {
    let text = told(&runs(350, 350, 340));
    assert!(text.contains("O2 f16 trains in 110 % of O0's bytes"), "{text}");
    assert!(text.contains("O3 f16, with no masters and no loss scale, ends 2.78 points below O0"));
    let text = told(&runs(350, 350, 351));
    assert!(
        text.contains("keeps up on this small problem") && !text.contains("below O0"),
        "{text}"
    );
}

#[test]
fn nothing_is_compared_with_what_did_not_run() {
    let text = told(&runs(350, 350, 300)[2..]);
    assert_eq!(text, "Notice: no step was skipped, since no gradient was infinite or NaN.");
}

#[test]
fn skips_are_counted_even_where_nobody_read_a_report() {
    let mut runs = runs(350, 350, 300);
    runs[1].outcomes.steps = Steps { attempted: 10, applied: 8, skipped: 2 };
    assert!(told(&runs).ends_with("2 steps were skipped, and changed nothing."));
    runs[1].outcomes.first_skip = Some("step 3 skipped".into());
    assert!(notice(&runs).ends_with("\nO1 f16: step 3 skipped."));
}

#[test]
fn a_run_that_diverged_is_not_said_to_have_ended_somewhere() {
    let mut runs = runs(350, 350, 300);
    runs[3].outcomes.diverged = Some("step 9 skipped".into());
    let text = told(&runs);
    assert!(
        !text.contains("below O0") && text.ends_with("O3 f16 diverged: step 9 skipped."),
        "{text}"
    );
}
