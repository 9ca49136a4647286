//! What the backend does on a device: a GPU, or a driver that runs on the CPU. Without any the tests are ignored, and say so;
//! where `BINADE_REQUIRE` names `wgpu` they fail. `BINADE_WGPU_ADAPTER` chooses among several.
#![expect(
    clippy::unnecessary_wraps,
    reason = "one shape for all tests, those without a `?` among them"
)]

mod casts;
mod clip_groups;
mod clipping;
mod counted;
mod handles;
mod ops_batch_norm;
mod ops_bias_add;
mod ops_fill;
mod ops_gelu;
mod ops_indexed;
mod ops_layer_norm;
mod ops_max_pool2d;
mod ops_pointwise;
mod ops_products;
mod ops_softmax;
mod ops_subnormals;
mod ops_sum;
mod ops_tanh;
mod outcomes;
mod ranks;
mod resumed;
mod roundings;
mod rules;
mod scaled;
mod snapshots;
mod stepping;
mod steps;
mod steps_memory;
mod stores;
mod support;
mod windows;

use libtest_mimic::{Arguments, Failed, Trial};

/// A test's name and what it does.
type Test = (&'static str, fn() -> Result<(), Failed>);

/// A list of tests, named as they are.
#[macro_export]
macro_rules! tests {
    ($($name:ident),* $(,)?) => {
        pub(crate) const TESTS: &[$crate::Test] = &[$((stringify!($name), $name)),*];
    };
}

fn main() {
    let mut arguments = Arguments::from_args();
    // They share a device, and some count what the host does on it.
    arguments.test_threads = Some(1);
    let skip = support::absent();
    match &skip {
        Some(reason) => eprintln!("device tests are ignored: {reason}"),
        None => eprintln!("{}", support::told()),
    }
    let all = [
        ("casts", casts::TESTS),
        ("clip_groups", clip_groups::TESTS),
        ("clipping", clipping::TESTS),
        ("counted", counted::TESTS),
        ("handles", handles::TESTS),
        ("ops_batch_norm", ops_batch_norm::TESTS),
        ("ops_bias_add", ops_bias_add::TESTS),
        ("ops_fill", ops_fill::TESTS),
        ("ops_gelu", ops_gelu::TESTS),
        ("ops_indexed", ops_indexed::TESTS),
        ("ops_layer_norm", ops_layer_norm::TESTS),
        ("ops_max_pool2d", ops_max_pool2d::TESTS),
        ("ops_pointwise", ops_pointwise::TESTS),
        ("ops_products", ops_products::TESTS),
        ("ops_softmax", ops_softmax::TESTS),
        ("ops_subnormals", ops_subnormals::TESTS),
        ("ops_sum", ops_sum::TESTS),
        ("ops_tanh", ops_tanh::TESTS),
        ("outcomes", outcomes::TESTS),
        ("ranks", ranks::TESTS),
        ("resumed", resumed::TESTS),
        ("roundings", roundings::TESTS),
        ("rules", rules::TESTS),
        ("scaled", scaled::TESTS),
        ("snapshots", snapshots::TESTS),
        ("steps", steps::TESTS),
        ("steps_memory", steps_memory::TESTS),
        ("stores", stores::TESTS),
        ("windows", windows::TESTS),
    ];
    let trials = all.into_iter().flat_map(|(module, tests)| {
        let trial = move |(name, run): &Test| Trial::test(format!("{module}::{name}"), *run);
        tests.iter().map(trial)
    });
    let mut trials: Vec<_> = trials.map(|trial| trial.with_ignored_flag(skip.is_some())).collect();
    // Minutes or gibibytes each: by `--ignored`, or `--include-ignored`.
    for (module, tests) in [("casts", casts::SLOW), ("handles", handles::SLOW)] {
        trials.extend(tests.iter().map(|(name, run)| {
            Trial::test(format!("{module}::{name}"), *run).with_ignored_flag(true)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}
