//! Tests of the backend on a device: a GPU, or the interpreter in a GPU's place. Without either the tests are ignored, and say
//! so; if `BINADE_REQUIRE` names `cuda` or `ptx` they fail.
#![expect(
    clippy::unnecessary_wraps,
    reason = "one shape for all tests, those without a `?` among them"
)]

mod captures;
mod captures_beside;
mod captures_clones;
mod casts;
mod ceilings;
mod convolutions;
mod counted;
mod edges;
mod faults;
mod graphs;
mod graphs_stores;
mod handles;
mod joins;
mod library;
mod library_no_tf32;
mod library_tf32;
mod model;
mod ops_linear;
mod ops_linear_relu;
mod ops_products;
mod outcomes;
mod products;
mod replicas;
mod replicas_refusals;
mod replicas_steps;
#[path = "../../../../tests/device/mod.rs"]
mod shared;
mod starts;
mod steps;
mod support;
mod windows;

use libtest_mimic::{Arguments, Failed, Trial};

/// Name of a test, and the test.
type Test = (&'static str, fn() -> Result<(), Failed>);

/// List of tests, by the names of their functions.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[$crate::Test] = &[$((stringify!($name), $name)),*];
    };
}

fn main() {
    let mut arguments = Arguments::from_args();
    // Tests share a device, and some count the host's work on it.
    arguments.test_threads = Some(1);
    let skip = support::absent();
    if let Some(reason) = &skip {
        eprintln!("device tests are ignored: {reason}");
    }
    let all = [
        ("captures", captures::TESTS),
        ("captures_beside", captures_beside::TESTS),
        ("captures_clones", captures_clones::TESTS),
        ("casts", casts::TESTS),
        ("ceilings", ceilings::TESTS),
        ("convolutions_or_products", convolutions::EITHER),
        ("counted", counted::TESTS),
        ("edges", edges::TESTS),
        ("faults", faults::TESTS),
        ("graphs", graphs::TESTS),
        ("graphs_stores", graphs_stores::TESTS),
        ("handles", handles::TESTS),
        ("joins", joins::TESTS),
        ("library_or_kernels", library::EITHER),
        ("library_no_tf32", library_no_tf32::TESTS),
        ("ops_linear", ops_linear::TESTS),
        ("ops_linear_relu", ops_linear_relu::TESTS),
        ("ops_products", ops_products::TESTS),
        ("outcomes", outcomes::TESTS),
        ("replicas", replicas::TESTS),
        ("replicas_refusals", replicas_refusals::TESTS),
        ("replicas_steps", replicas_steps::TESTS),
        ("starts", starts::TESTS),
        ("steps", steps::TESTS),
        ("windows", windows::TESTS),
    ];
    let trials = all.into_iter().chain(shared::TESTS).flat_map(|(module, tests)| {
        let trial = move |(name, run): &Test| Trial::test(format!("{module}::{name}"), *run);
        tests.iter().map(trial)
    });
    let trials = trials.map(|trial| trial.with_ignored_flag(skip.is_some()));
    let unused = skip.clone().or_else(library::absent);
    if let (Some(reason), None) = (&unused, &skip) {
        eprintln!("the library's tests are ignored: {reason}");
    }
    let of_library = [("library", library::TESTS), ("library_tf32", library_tf32::TESTS)];
    let of_library = of_library.into_iter().flat_map(|(module, tests)| {
        let trial = move |(name, run): &Test| Trial::test(format!("{module}::{name}"), *run);
        tests.iter().map(trial)
    });
    let of_library = of_library.map(|trial| trial.with_ignored_flag(unused.is_some()));
    let trials = trials.chain(of_library).chain(of_cudnn(skip.is_some())).collect();
    libtest_mimic::run(&arguments, trials).exit();
}

/// Returns the tests of convolutions by the library, ignored if it is missing.
#[cfg(feature = "cudnn")]
fn of_cudnn(is_skipped: bool) -> Vec<Trial> {
    let unused = if is_skipped { None } else { convolutions::absent() };
    if let Some(reason) = &unused {
        eprintln!("cuDNN's tests are ignored: {reason}");
    }
    let trial = |(name, run): &Test| Trial::test(format!("convolutions::{name}"), *run);
    let is_ignored = is_skipped || unused.is_some();
    convolutions::TESTS.iter().map(|test| trial(test).with_ignored_flag(is_ignored)).collect()
}

/// Returns no tests: the feature is not built in.
#[cfg(not(feature = "cudnn"))]
fn of_cudnn(_is_skipped: bool) -> Vec<Trial> {
    Vec::new()
}
