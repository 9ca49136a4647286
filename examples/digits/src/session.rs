//! Session: all runs of the command line, one after the other.

use crate::Result;
use crate::args::{Args, DeviceKind};
use crate::check::check;
#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
use crate::check::not_built;
use crate::config::{self, Setting};
use crate::data::{self, Digits};
use crate::record::Run;
use crate::train;
use binade_cpu::Cpu;
#[cfg(feature = "cuda")]
use binade_cuda::Cuda;
#[cfg(feature = "wgpu")]
use binade_wgpu::Wgpu;
use indicatif::{ProgressBar, ProgressStyle};

/// Runs every setting of `args`. Each finished run is kept in `runs`, even if a later one fails.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed; later, if a run fails.
pub fn run(args: &Args, runs: &mut Vec<Run>) -> Result<()> {
    let digits = data::load(args.data.as_deref(), args.seed)?;
    check(args, &digits.train)?;
    for setting in config::settings(args) {
        runs.push(one(args, setting, &digits)?);
    }
    Ok(())
}

fn one(args: &Args, setting: Setting, digits: &Digits) -> Result<Run> {
    let bar = progress(args, setting, digits);
    let run = match args.device {
        DeviceKind::Cpu => train::run(&Cpu, args, setting, digits, &bar),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => train::run(&Cuda::open(0)?, args, setting, digits, &bar),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => train::run(&Wgpu::open()?, args, setting, digits, &bar),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        device => Err(not_built(&device.name()).into()),
    };
    bar.finish_and_clear();
    let (level, dtype) = setting;
    run.map_err(|error| format!("{level} {dtype}: {error}").into())
}

/// Returns a progress bar, which is drawn on standard error if that is a terminal.
fn progress(args: &Args, setting: Setting, digits: &Digits) -> ProgressBar {
    let batches = config::batches(args, digits.train.len()) * args.epochs as usize;
    let bar = ProgressBar::new(batches as u64);
    let template = "{prefix:18} {bar:40} {pos:>4}/{len} batches  {msg}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    let (level, dtype) = setting;
    bar.set_prefix(format!("{level} {dtype} on {}", digits.name));
    bar
}
