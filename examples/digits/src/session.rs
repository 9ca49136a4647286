//! Session: all runs of the command line, one after the other.

use crate::Result;
use crate::args::{Args, DeviceKind};
use crate::check::check;
#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
use crate::check::not_built;
use crate::config::{self, Setting};
use crate::data::{self, Digits};
use crate::model::Trains;
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
    match args.device {
        DeviceKind::Cpu => each(&Cpu, args, &digits, runs),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => each(&opened("cuda", Cuda::open(0))?, args, &digits, runs),
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => each(&opened("wgpu", Wgpu::open())?, args, &digits, runs),
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        device => Err(not_built(&device.name()).into()),
    }
}

#[cfg(any(feature = "cuda", feature = "wgpu"))]
fn opened<D, E: std::fmt::Display>(name: &str, device: Result<D, E>) -> Result<D> {
    device.map_err(|error| format!("--device {name}: {error}").into())
}

fn each<D: Trains>(device: &D, args: &Args, digits: &Digits, runs: &mut Vec<Run>) -> Result<()> {
    for setting in config::settings(args) {
        let bar = progress(args, setting, digits);
        let run = train::run(device, args, setting, digits, &bar);
        bar.finish_and_clear();
        let (level, dtype) = setting;
        runs.push(run.map_err(|error| format!("{level} {dtype}: {error}"))?);
    }
    Ok(())
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
