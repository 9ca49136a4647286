//! One run: trains a model at a level, tests it, and records figures.

use crate::Result;
use crate::args::Args;
use crate::config::Setting;
use crate::data::Digits;
use crate::model::Trains;
use crate::record::Run;
use crate::saved::Files;
use crate::trainer::Trainer;
use binade_example_shared::program::Part;
use indicatif::ProgressBar;
use std::time::Instant;

/// Trains and tests `setting` on `device`. Each step's outcome is resolved, unless `args` say that nobody watches: the
/// scale is then read once, at the end.
///
/// # Errors
///
/// If the command line asks for something impossible, or the device refuses.
pub fn run<D: Trains>(
    device: &D,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    bar: &ProgressBar,
) -> Result<Run> {
    part(device, Part::whole(), None, args, setting, digits, bar)
}

/// Trains on a part of every batch, and tests. Ranks that save have `files`.
pub(crate) fn part<D: Trains>(
    device: &D,
    part: Part<D>,
    files: Option<Files<D>>,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    bar: &ProgressBar,
) -> Result<Run> {
    let started = Instant::now();
    let mut trainer = Trainer::new(device, part, files, args, setting, digits.train.size)?;
    for epoch in trainer.resume()?..args.epochs {
        if trainer.epoch(&digits.train, bar)?.is_break() {
            break;
        }
        trainer.save(epoch + 1)?;
    }
    let right = trainer.right(&digits.test)?;
    let (data, seconds) = (digits.source(), started.elapsed().as_secs_f64());
    Ok(Run { right, seconds, data, ..trainer.into_run()? })
}
