//! When a run on another device agrees with the CPU's.

use binade_example_digits::record::Run;

/// Each epoch's mean loss within `share` of the other, as many steps applied and skipped, and the same scale all along.
pub(crate) fn agree(here: &Run, there: &Run, share: f32) {
    assert_eq!(here.losses.len(), there.losses.len(), "epochs");
    for (a, b) in here.losses.iter().zip(&there.losses) {
        assert!(is_within(*a, *b, share), "losses {:?} and {:?}", here.losses, there.losses);
    }
    assert_eq!(here.steps, there.steps);
    assert_eq!(here.scale, there.scale);
    assert_eq!(here.first_skip.is_some(), there.first_skip.is_some());
}

/// NaN is apart from everything.
pub(crate) fn is_within(a: f32, b: f32, share: f32) -> bool {
    (a - b).abs() <= share * a.abs()
}
