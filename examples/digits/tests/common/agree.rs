//! Agreement of a run on another device with the CPU's.

use binade_example_digits::record::Run;

/// Asserts each epoch's mean loss within `share` of the other, equal counts of applied and skipped steps, and the same scale
/// throughout.
pub(crate) fn agree(here: &Run, there: &Run, share: f32) {
    assert_eq!(here.losses.len(), there.losses.len(), "epochs");
    for (a, b) in here.losses.iter().zip(&there.losses) {
        assert!(is_within(*a, *b, share), "losses {:?} and {:?}", here.losses, there.losses);
    }
    assert_eq!(here.steps, there.steps);
    assert_eq!(here.scale, there.scale);
    assert_eq!(here.first_skip.is_some(), there.first_skip.is_some());
}

/// Returns true if the values differ by at most `share` of `a`; false with NaN.
pub(crate) fn is_within(a: f32, b: f32, share: f32) -> bool {
    (a - b).abs() <= share * a.abs()
}
