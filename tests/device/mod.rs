//! The tests that every GPU backend has in its `device` program, beyond the conformance kit: behaviour that the kit cannot ask for
//! by bytes alone, such as another handle's values, waiting, states that are kept beside parameters, and windows of windows.

mod attention;
pub(crate) mod calls;
mod clip_groups;
pub(crate) mod counted;
mod double_backward;
mod fp16_optimizer;
pub(crate) mod indices;
mod joins;
mod killed;
mod muon;
mod operations;
mod ranks;
mod resumed;
#[path = "../rule/mod.rs"]
mod rule;
mod rules;
mod scaled;
mod snapshots;
pub(crate) mod steps;
mod stores;
pub(crate) mod support;
#[path = "../rule/whole.rs"]
pub(crate) mod whole;
mod whole_tensors;
pub(crate) mod windows;

use libtest_mimic::{Failed, Trial};

/// Name of a test, and the test.
pub(crate) type Test = (&'static str, fn() -> Result<(), Failed>);

/// List of tests, by the names of their functions.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[$crate::shared::Test] = &[$((stringify!($name), $name)),*];
    };
}

/// Tests of a module.
pub(crate) type Module = (&'static str, &'static [Test]);

/// The tests, by module.
pub(crate) const TESTS: [Module; 19] = [
    ("attention", attention::TESTS),
    ("clip_groups", clip_groups::TESTS),
    ("counted", counted::TESTS),
    ("double_backward", double_backward::TESTS),
    ("fp16_optimizer", fp16_optimizer::TESTS),
    ("indices", indices::TESTS),
    ("joins", joins::TESTS),
    ("killed", killed::TESTS),
    ("muon", muon::TESTS),
    ("operations", operations::TESTS),
    ("ranks", ranks::TESTS),
    ("resumed", resumed::TESTS),
    ("rules", rules::TESTS),
    ("scaled", scaled::TESTS),
    ("snapshots", snapshots::TESTS),
    ("steps", steps::TESTS),
    ("stores", stores::TESTS),
    ("whole_tensors", whole_tensors::TESTS),
    ("windows", windows::TESTS),
];

/// Returns the tests of modules, ignored for a reason that is told.
pub(crate) fn trials(modules: &[Module], skip: Option<&str>) -> Vec<Trial> {
    let names: Vec<_> = modules.iter().map(|(module, _)| *module).collect();
    if let Some(reason) = skip {
        eprintln!("tests of {} are ignored: {reason}", names.join(", "));
    }
    let trials = modules.iter().flat_map(|(module, tests)| {
        tests.iter().map(move |(name, run)| Trial::test(format!("{module}::{name}"), *run))
    });
    trials.map(|trial| trial.with_ignored_flag(skip.is_some())).collect()
}
