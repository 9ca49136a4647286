//! Training on CUDA and by wgpu agrees with training on the CPU: on a GPU, or on what runs in its place on a CPU.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

use binade_example_gpt::args::Args;
use binade_example_shared::agree::{self, Line, is_within};
use binade_example_shared::program::DeviceKind;
use common::{only, small};

const RUNS: [Line; 3] = [
    ("--level O0 --accumulate 2", 1e-4),
    ("--level O1 --dtype f16", 2e-2),
    ("--level O2 --dtype bf16", 2e-2),
];

/// Asserts that a run on the device and one on the CPU agree: losses within `share`, the same steps applied and skipped, the same
/// scales.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "a test takes its device by reference")]
fn agree(device: &DeviceKind, line: &str, share: f32) {
    let args = small(&format!("{line} --steps 4 --every 2 --sample 1"));
    let there = only(&Args { device: *device, ..args.clone() });
    let here = only(&args);
    assert_eq!((here.curve.len(), there.curve.len()), (2, 2));
    for (a, b) in here.curve.iter().zip(&there.curve) {
        let is_near =
            is_within(a.train, b.train, share) && is_within(a.validation, b.validation, share);
        assert!(is_near, "{:?} and {:?}", here.curve, there.curve);
    }
    assert_eq!(here.outcomes.steps, there.outcomes.steps);
    assert_eq!(here.outcomes.scales, there.outcomes.scales);
}

fn main() {
    agree::main(agree::on_devices(agree, &RUNS));
}
