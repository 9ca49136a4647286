//! Tests of the backend on a device: a GPU, or a driver that runs on the CPU. Without any the tests are ignored, and say so; if
//! `BINADE_REQUIRE` names `wgpu` they fail. `BINADE_WGPU_ADAPTER` chooses among several.
#![expect(
    clippy::unnecessary_wraps,
    reason = "one shape for all tests, those without a `?` among them"
)]

mod casts;
mod clipping;
mod counted;
mod exponentials;
mod handles;
mod ops_indexed;
mod ops_subnormals;
mod outcomes;
mod parts;
mod roundings;
#[path = "../../../../tests/device/mod.rs"]
mod shared;
mod stepping;
mod steps;
mod steps_memory;
mod support;
mod windows;

use libtest_mimic::{Arguments, Failed, Trial};

/// Name of a test, and its function.
type Test = (&'static str, fn() -> Result<(), Failed>);

/// Lists tests under their own names.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[$crate::Test] = &[$((stringify!($name), $name)),*];
    };
}

fn main() {
    let mut arguments = Arguments::from_args();
    // Tests share a device, and some count what the host does on it.
    arguments.test_threads = Some(1);
    let skip = support::absent();
    match &skip {
        Some(reason) => eprintln!("device tests are ignored: {reason}"),
        None => eprintln!("{}", support::facts()),
    }
    let all = [
        ("casts", casts::TESTS),
        ("clipping", clipping::TESTS),
        ("counted", counted::TESTS),
        ("exponentials", exponentials::TESTS),
        ("handles", handles::TESTS),
        ("ops_indexed", ops_indexed::TESTS),
        ("ops_subnormals", ops_subnormals::TESTS),
        ("outcomes", outcomes::TESTS),
        ("parts", parts::TESTS),
        ("roundings", roundings::TESTS),
        ("steps", steps::TESTS),
        ("steps_memory", steps_memory::TESTS),
        ("windows", windows::TESTS),
    ];
    let trials = all.into_iter().chain(shared::TESTS).flat_map(|(module, tests)| {
        let trial = move |(name, run): &Test| Trial::test(format!("{module}::{name}"), *run);
        tests.iter().map(trial)
    });
    let mut trials: Vec<_> = trials.map(|trial| trial.with_ignored_flag(skip.is_some())).collect();
    // Tests of minutes or gibibytes each: run by `--ignored`, or `--include-ignored`.
    for (module, tests) in [("casts", casts::SLOW), ("handles", handles::SLOW)] {
        trials.extend(tests.iter().map(|(name, run)| {
            Trial::test(format!("{module}::{name}"), *run).with_ignored_flag(true)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
