//! Arguments as typed, and short runs on a part of the images, shared by the tests.

#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(any(feature = "cuda", feature = "wgpu"))]
pub(crate) mod agree;
pub(crate) mod idx;
pub(crate) mod weights;

use binade_cpu::Cpu;
use binade_example_digits::args::Args;
use binade_example_digits::config::{self, Setting};
use binade_example_digits::data::Digits;
use binade_example_digits::record::Run;
use binade_example_digits::train;
use clap::Parser;
use indicatif::ProgressBar;

/// Parses arguments as typed, after the program's name.
pub(crate) fn parse(line: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(std::iter::once("digits").chain(line.split_whitespace()))
}

/// Returns arguments of two epochs of the small model on 200 images, in 7 batches of 32, the last of 8, unless `line` says
/// otherwise.
pub(crate) fn short(line: &str) -> Args {
    parse(&format!("--model mlp --epochs 2 {line}")).unwrap()
}

pub(crate) fn digits(args: &Args) -> Digits {
    let digits = Digits::embedded(args.seed).unwrap();
    Digits { train: digits.train.pick(&(0..200).collect::<Vec<_>>()), ..digits }
}

pub(crate) fn run(args: &Args, setting: Setting) -> Run {
    train::run(&Cpu, args, setting, &digits(args), &ProgressBar::hidden()).unwrap()
}

/// Runs everything that `line` asks for.
pub(crate) fn runs(line: &str) -> Vec<Run> {
    let args = short(line);
    config::settings(&args).into_iter().map(|setting| run(&args, setting)).collect()
}

/// Runs `line`, which asks for one run.
pub(crate) fn only(line: &str) -> Run {
    let [run] = runs(line).try_into().unwrap();
    run
}
