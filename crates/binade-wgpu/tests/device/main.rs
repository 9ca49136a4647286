//! Tests of the backend on a device: a GPU, or a driver that runs on the CPU. Without a device the tests are reported as ignored, or fail if
//! `BINADE_REQUIRE` names `wgpu`. `BINADE_WGPU_ADAPTER` chooses among several devices.
#![expect(
    clippy::unnecessary_wraps,
    reason = "one shape for all tests, those without a `?` among them"
)]

mod casts;
mod clipping;
mod counted;
mod exponentials;
mod handles;
mod ops_subnormals;
mod outcomes;
mod parts;
mod roundings;
#[path = "../../../../tests/device/mod.rs"]
mod shared;
mod steps_memory;
mod support;
mod windows;

use libtest_mimic::Arguments;
use shared::trials;

fn main() {
    let mut arguments = Arguments::from_args();
    // Tests share a device, and some count what the host does on it.
    arguments.test_threads = Some(1);
    eprintln!("{}", support::facts());
    let all = [
        ("casts", casts::TESTS),
        ("clipping", clipping::TESTS),
        ("counted", counted::TESTS),
        ("exponentials", exponentials::TESTS),
        ("handles", handles::TESTS),
        ("ops_subnormals", ops_subnormals::TESTS),
        ("outcomes", outcomes::TESTS),
        ("parts", parts::TESTS),
        ("roundings", roundings::TESTS),
        ("steps_memory", steps_memory::TESTS),
        ("windows", windows::TESTS),
    ];
    let trials = trials(&[&all[..], &shared::TESTS].concat(), support::absent().as_deref());
    libtest_mimic::run(&arguments, trials).exit();
}
