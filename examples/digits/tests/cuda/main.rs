//! Training on CUDA agrees with training on the CPU, seed by seed, on a GPU or on the interpreter in its place. Without either
//! the tests are ignored, and say so; if `BINADE_REQUIRE` names `cuda` or `ptx` they fail.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod captured;
#[path = "../common/mod.rs"]
mod common;
mod replicated;

use binade_cuda::{Cuda, Error};
use binade_example_digits::record;
use binade_example_digits::{config, train};
use common::{digits, run, short};
use indicatif::ProgressBar;
use libtest_mimic::{Arguments, Failed, Trial};

/// Arguments of a run, and a bound.
type Run = (&'static str, f32);

/// Check of a run within a bound.
type Test = fn(&Cuda, &str, f32);

/// Arguments of runs, each with the relative bound on the mean losses of its epochs. Products are summed in another order, and
/// 16-bit results then round the other way now and then.
const RUNS: [Run; 9] = [
    ("--level O0", 1e-4),
    ("--level O0 --optimizer sgd --accumulate 2", 1e-4),
    ("--level O1 --dtype f16 --inject-overflow 3", 2e-2),
    ("--level O1 --dtype bf16", 2e-2),
    ("--level O2 --dtype f16 --inject-overflow 2 --growth-interval 3", 2e-2),
    ("--level O2 --dtype bf16 --clip-norm 0.5 --accumulate 2", 2e-2),
    ("--level O3 --dtype f16 --optimizer sgd", 2e-2),
    ("--model cnn --epochs 1 --batch 100 --level O0", 1e-4),
    ("--model cnn --epochs 1 --batch 100 --level O2 --dtype f16", 2e-2),
];

fn on_cuda(cuda: &Cuda, line: &str) -> (record::Run, record::Run) {
    let args = short(line);
    let [setting] = config::settings(&args).try_into().unwrap();
    let bar = ProgressBar::hidden();
    let there = train::run(cuda, &args, setting, &digits(&args), &bar).unwrap();
    (run(&args, setting), there)
}

fn agree(cuda: &Cuda, line: &str, share: f32) {
    let (here, there) = on_cuda(cuda, line);
    common::agree::agree(&here, &there, share);
}

/// Returns the reason why the tests cannot run, unless they are required.
fn absent(device: &Result<Cuda, Error>) -> Option<String> {
    let required = std::env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| ["cuda", "ptx"].contains(&name.trim()));
    device.as_ref().err().filter(|_| !is_required).map(ToString::to_string)
}

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = Some(1);
    let device = Cuda::open(0);
    let skip = absent(&device);
    if let Some(reason) = &skip {
        eprintln!("training on CUDA is not tested: {reason}");
    }
    let trial = |name: &str, of: Test, (line, share): Run| {
        let device = device.clone();
        let test = move || {
            of(&device?, line, share);
            Ok::<_, Failed>(())
        };
        Trial::test(format!("{name}: {line}"), test).with_ignored_flag(skip.is_some())
    };
    let whole = RUNS.map(|run| trial("agrees_with_the_cpu", agree, run));
    let steps = captured::RUNS.map(|run| trial("captured_steps_agree", captured::agree, run));
    let tapes =
        captured::RUNS.map(|run| trial("a_tape_that_is_kept_is_named", captured::refuse, run));
    let replicas = replicated::RUNS.map(|run| trial("replicas_agree", replicated::agree, run));
    let all = whole.into_iter().chain(steps).chain(tapes).chain(replicas);
    libtest_mimic::run(&arguments, all.collect()).exit();
}
