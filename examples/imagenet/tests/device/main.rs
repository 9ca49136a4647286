//! Two steps on CUDA and by wgpu agree with the CPU's: on a GPU, or on what runs in its place on a CPU.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "it takes its part")]
#[path = "../common/mod.rs"]
mod common;

use binade_example_imagenet::args::Args;
use binade_example_imagenet::session;
use binade_example_shared::agree::{self, Line, is_within};
use binade_example_shared::program::DeviceKind;
use common::small;

const RUNS: [Line; 2] = [
    ("--opt-level O0", 1e-3),
    ("--opt-level O2 --dtype f16 --loss-scale 128 --channels-last", 2e-2),
];

/// Asserts that a run on the device and one on the CPU agree: losses within `share`, both steps applied.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "a test takes its device by reference")]
fn agree(device: &DeviceKind, line: &str, share: f32) {
    let args = small(&format!("{line} --image-size 8 --batch-size 4 --steps 2"));
    let there = session::train(&Args { device: *device, ..args.clone() }).unwrap();
    let here = session::train(&args).unwrap();
    let ([a], [b]) = (&*here.curve, &*there.curve) else { panic!("{here:?} {there:?}") };
    let is_near =
        is_within(a.train, b.train, share) && is_within(a.validation, b.validation, share);
    assert!(is_near, "{a:?} and {b:?}");
    assert_eq!((here.outcomes.steps.applied, &here.outcomes), (2, &there.outcomes));
}

fn main() {
    agree::main(agree::on_devices(agree, &RUNS));
}
