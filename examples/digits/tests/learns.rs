//! The first example as the README runs it: every level learns.

use binade_example_digits::args::Args;
use binade_example_digits::session;
use clap::Parser;

/// The share of test images that every level but O3 must get right. O3 has neither masters nor a loss scale.
const LEARNT: f32 = 0.97;

#[test]
fn every_level_but_o3_gets_the_test_images_right_and_mixed_ones_within_a_point_of_o0() {
    let mut runs = Vec::new();
    session::run(&Args::parse_from(["digits"]), &mut runs).unwrap();
    let names: Vec<_> = runs.iter().map(|run| format!("{} {}", run.level, run.dtype)).collect();
    assert_eq!(names, ["O0 f32", "O1 f16", "O1 bf16", "O2 f16", "O2 bf16", "O3 f16"]);
    let full = runs[0].accuracy();
    for (run, name) in runs.iter().zip(&names) {
        let is_finite = run.losses.iter().all(|loss| loss.is_finite());
        assert!(is_finite && !run.losses.is_empty(), "{name}: {:?}", run.losses);
        let steps = run.outcomes.steps;
        assert!(
            steps.attempted > 0 && steps.applied + steps.skipped == steps.attempted,
            "{name}: {steps:?}"
        );
        if run.level != "O3" {
            let accuracy = run.accuracy();
            assert!((LEARNT..=1.0).contains(&accuracy), "{name}: {accuracy}");
            assert!((accuracy - full).abs() <= 0.01, "{name}: {accuracy} and {full}");
        }
    }
}
