//! Session: all runs of the command line, one after the other.

use crate::args::{Args, DeviceKind};
use crate::check::{ArgsError, check};
use crate::config::{self, Setting};
use crate::data::{self, DataError, Digits};
use crate::record::Run;
use crate::train;
use binade_cpu::Cpu;
#[cfg(feature = "cuda")]
use binade_cuda::Cuda;
#[cfg(feature = "wgpu")]
use binade_wgpu::Wgpu;
use indicatif::{ProgressBar, ProgressStyle};
use std::error::Error;

/// Reason why the session ended early.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Arguments that do not go together.
    #[error(transparent)]
    Args(#[from] ArgsError),
    /// Images that cannot be loaded.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Run that failed.
    #[error("{} {}: {source}", setting.0, setting.1)]
    Train {
        /// Setting of the run.
        setting: Setting,
        /// Error of the run.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Runs every setting of `args`. Each finished run is kept in `runs`, even if a later one fails.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed; later, if a run fails.
pub fn run(args: &Args, runs: &mut Vec<Run>) -> Result<(), SessionError> {
    let digits = data::load(args.data.as_deref(), args.seed)?;
    check(args, &digits.train)?;
    for setting in config::settings(args) {
        runs.push(one(args, setting, &digits)?);
    }
    Ok(())
}

fn one(args: &Args, setting: Setting, digits: &Digits) -> Result<Run, SessionError> {
    let bar = progress(args, setting, digits);
    let run: Result<Run, Box<dyn Error + Send + Sync>> = match args.device {
        DeviceKind::Cpu => train::run(&Cpu, args, setting, digits, &bar).map_err(Into::into),
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda => {
            let cuda = Cuda::open(0).map_err(ArgsError::from)?;
            train::run(&cuda, args, setting, digits, &bar).map_err(Into::into)
        }
        #[cfg(feature = "wgpu")]
        DeviceKind::Wgpu => {
            let wgpu = Wgpu::open().map_err(ArgsError::from)?;
            train::run(&wgpu, args, setting, digits, &bar).map_err(Into::into)
        }
        #[cfg(not(all(feature = "cuda", feature = "wgpu")))]
        device => Err(ArgsError::NotBuilt(device.name()).into()),
    };
    bar.finish_and_clear();
    run.map_err(|source| SessionError::Train { setting, source })
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
