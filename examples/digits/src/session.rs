//! Session: all runs of the command line, one after the other.

use crate::args::{Args, DeviceKind};
use crate::check::{ArgsError, check};
use crate::config::{self, Setting};
use crate::data::{self, DataError, Digits};
use crate::record::{Record, Run, WriteError};
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
    /// Record that cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Run that failed.
    #[error("{} {}: {source}", setting.0, setting.1)]
    Train {
        /// Setting of the run.
        setting: Setting,
        /// Error of the run.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Runs every setting of `args`. Each finished run is kept in `record`, and in the file that `args` name, even if a later one
/// fails.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed or the file cannot be written; later, if a run fails.
pub fn run(args: &Args, record: &mut Record) -> Result<(), SessionError> {
    let digits = data::load(args.data.as_deref(), args.seed)?;
    check(args, &digits.train)?;
    save(args, record)?;
    for setting in config::settings(args) {
        record.runs.push(one(args, setting, &digits)?);
        save(args, record)?;
    }
    Ok(())
}

fn save(args: &Args, record: &Record) -> Result<(), WriteError> {
    args.json.as_ref().map_or(Ok(()), |path| record.save(path))
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
    bar.set_prefix(prefix(setting, digits));
    bar
}

fn prefix((level, dtype): Setting, digits: &Digits) -> String {
    format!("{level} {dtype} on {}", digits.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use binade::OptLevel;
    use binade::core::DType;

    #[test]
    fn the_bar_says_what_is_trained_on_what() {
        let digits = Digits::embedded(0).unwrap();
        assert_eq!(prefix((OptLevel::O2, DType::F16), &digits), "O2 f16 on digits");
        let digits = Digits { name: "data/mnist".into(), ..digits };
        assert_eq!(prefix((OptLevel::O1, DType::BF16), &digits), "O1 bf16 on data/mnist");
    }
}
