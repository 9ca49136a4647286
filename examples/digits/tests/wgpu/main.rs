//! Training by wgpu agrees with training on the CPU, seed by seed. Without an adapter the tests are ignored, and say so; if
//! `BINADE_REQUIRE` names `wgpu` they fail.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;

use binade_example_digits::{config, train};
use binade_wgpu::{Error, Wgpu};
use common::{agree::agree, digits, run, short};
use indicatif::ProgressBar;
use libtest_mimic::{Arguments, Failed, Trial};

/// Arguments of runs, each with the relative bound on the mean losses of its epochs. Products are summed in another order, and
/// 16-bit results then round the other way now and then.
const RUNS: [(&str, f32); 6] = [
    ("--level O0", 1e-4),
    ("--level O0 --optimizer sgd --accumulate 2", 1e-4),
    ("--level O1 --dtype f16 --inject-overflow 3", 2e-2),
    ("--level O2 --dtype f16 --inject-overflow 2 --growth-interval 3", 2e-2),
    ("--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2", 2e-2),
    ("--model cnn --epochs 1 --batch 100 --level O2 --dtype f16", 2e-2),
];

fn agrees(wgpu: &Wgpu, line: &str, share: f32) {
    let args = short(line);
    let [setting] = config::settings(&args).try_into().unwrap();
    let bar = ProgressBar::hidden();
    let there = train::run(wgpu, &args, setting, &digits(&args), &bar).unwrap();
    agree(&run(&args, setting), &there, share);
}

/// Returns the reason why the tests cannot run, unless they are required.
fn absent(device: &Result<Wgpu, Error>) -> Option<String> {
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name.trim() == "wgpu");
    device.as_ref().err().filter(|_| !is_required).map(ToString::to_string)
}

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let device = Wgpu::open();
    let skip = absent(&device);
    if let Some(reason) = &skip {
        eprintln!("training by wgpu is not tested: {reason}");
    }
    let trials = RUNS.map(|(line, share)| {
        let device = device.clone();
        let test = move || {
            agrees(&device?, line, share);
            Ok::<_, Failed>(())
        };
        Trial::test(format!("agrees_with_the_cpu: {line}"), test).with_ignored_flag(skip.is_some())
    });
    libtest_mimic::run(&arguments, trials.into()).exit();
}
