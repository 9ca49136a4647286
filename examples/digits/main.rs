//! Trains a digits classifier at every opt level and prints one table: see `--help`.

use binade_cpu::Cpu;

use binade_example_digits::args::{Args, DeviceKind};
use binade_example_digits::config::{self, Setting};
use binade_example_digits::data::Digits;
use binade_example_digits::record::{Record, Run};
use binade_example_digits::{table, train};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let digits = Digits::embedded(args.seed)?;
    let mut record = Record { runs: Vec::new() };
    for setting in config::settings(args) {
        record.runs.push(one(args, setting, &digits)?);
    }
    println!("{}", table::table(&record.runs));
    if let Some(path) = &args.json {
        let text = serde_json::to_string_pretty(&record)?;
        std::fs::write(path, text + "\n")
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

fn one(args: &Args, setting: Setting, digits: &Digits) -> Result<Run, Box<dyn Error>> {
    let bar = progress(args, setting, digits);
    let run = match args.device {
        DeviceKind::Cpu => train::run(&Cpu, args, setting, digits, true, &bar)?,
        DeviceKind::Deferred => return Err(missing("deferred", "deferred")),
        DeviceKind::Cuda => return Err(missing("CUDA", "cuda")),
        DeviceKind::Wgpu => return Err(missing("wgpu", "wgpu")),
    };
    bar.finish_and_clear();
    Ok(run)
}

fn missing(backend: &str, word: &str) -> Box<dyn Error> {
    format!("--device {word}: this build has no {backend} backend yet; run with --device cpu")
        .into()
}

fn progress(args: &Args, (level, dtype): Setting, digits: &Digits) -> ProgressBar {
    let batches = digits.train.len().div_ceil(args.batch as usize) * args.epochs as usize;
    let bar = ProgressBar::new(batches as u64);
    let template = "{prefix:8} {bar:40} {pos:>4}/{len} batches  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_prefix(format!("{level} {dtype}"));
    bar
}
