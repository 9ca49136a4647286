//! Agreement of a run on another device with the CPU's.

use super::{digits, run, short};
use binade_example_digits::model::Trains;
use binade_example_digits::record::Run;
use binade_example_digits::{config, train};
use binade_example_shared::agree::{Line, is_within};
use indicatif::ProgressBar;

/// Types of a region, for tests without a bound.
pub(crate) const TYPES: [Line; 2] = [("bf16", 0.0), ("f16", 0.0)];

/// Asserts that a run on the device agrees with the CPU's.
pub(crate) fn agree<D: Trains>(device: &D, line: &str, share: f32) {
    let args = short(line);
    let [setting] = config::settings(&args).try_into().unwrap();
    let bar = ProgressBar::hidden();
    let there: Run = train::run(device, &args, setting, &digits(&args), &bar).unwrap();
    assert_near(&run(&args, setting), &there, share);
}

/// Asserts that two runs agree: each epoch's mean loss within `share` of the other, equal counts of applied and skipped steps, and the same
/// scale throughout.
pub(crate) fn assert_near(here: &Run, there: &Run, share: f32) {
    assert_eq!(here.losses.len(), there.losses.len(), "epochs");
    for (a, b) in here.losses.iter().zip(&there.losses) {
        assert!(is_within(*a, *b, share), "losses {:?} and {:?}", here.losses, there.losses);
    }
    assert_eq!(here.outcomes.steps, there.outcomes.steps);
    assert_eq!(here.outcomes.scales, there.outcomes.scales);
    assert_eq!(here.outcomes.first_skip.is_some(), there.outcomes.first_skip.is_some());
}
