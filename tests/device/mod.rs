//! The tests that every GPU backend has in its `device` program, beyond the conformance kit: behaviour that the kit cannot ask for
//! by bytes alone, such as another handle's values, waiting, states that are kept beside parameters, and windows of windows.

pub(crate) mod calls;
mod clip_groups;
pub(crate) mod counted;
mod operations;
mod outcomes;
mod ranks;
mod resumed;
mod rules;
mod scaled;
mod snapshots;
pub(crate) mod steps;
mod stores;
pub(crate) mod support;
pub(crate) mod windows;

/// The tests, by module.
pub(crate) const TESTS: [(&str, &[crate::Test]); 12] = [
    ("clip_groups", clip_groups::TESTS),
    ("counted", counted::TESTS),
    ("operations", operations::TESTS),
    ("outcomes", outcomes::TESTS),
    ("ranks", ranks::TESTS),
    ("resumed", resumed::TESTS),
    ("rules", rules::TESTS),
    ("scaled", scaled::TESTS),
    ("snapshots", snapshots::TESTS),
    ("steps", steps::TESTS),
    ("stores", stores::TESTS),
    ("windows", windows::TESTS),
];
