//! Session: all runs of the command line, one after the other.

use crate::Result;
use crate::args::Args;
use crate::check::check;
use crate::config::{self, Setting};
use crate::data::{self, Digits};
#[cfg(feature = "cuda")]
use crate::gpus;
use crate::model::Trains;
use crate::ranks;
use crate::record::Run;
use crate::train;
#[cfg(feature = "cuda")]
use binade_example_shared::program::DeviceKind;
use binade_example_shared::program::{OnDevice, open, progress};
use binade_ranks::Group;
use indicatif::ProgressBar;

/// Runs every setting of `args`. Each finished run is kept in `runs`, even if a later one fails.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed; later, if a run fails.
pub fn run(args: &Args, runs: &mut Vec<Run>) -> Result<()> {
    let digits = loaded(args)?;
    let each = Each { args, digits: &digits, runs };
    open(args.device, "digits", each)
}

/// Runs every setting of `args`, which name the number of ranks, as one rank of `group`. With a `second` group of the same ranks gradients
/// are sent while backward goes on. Rank 0 alone shows progress.
///
/// # Errors
///
/// Before anything is trained, if `args` cannot be followed; later, if a run fails.
pub fn run_rank<G: Group>(
    group: G,
    second: Option<G>,
    args: &Args,
    runs: &mut Vec<Run>,
) -> Result<()> {
    let digits = loaded(args)?;
    let is_shown = group.rank() == 0;
    let device = ranks::device(group, second, args)?;
    let one = |setting, bar: &ProgressBar| {
        let hidden = ProgressBar::hidden();
        let bar = if is_shown { bar } else { &hidden };
        ranks::one_of(&device, args, setting, &digits, bar)
    };
    Each { args, digits: &digits, runs }.run(one)
}

fn loaded(args: &Args) -> Result<Digits> {
    let digits = data::load(args.data.as_deref(), args.seed)?;
    check(args, &digits.train)?;
    Ok(digits)
}

/// Runs of every setting.
struct Each<'a> {
    args: &'a Args,
    digits: &'a Digits,
    runs: &'a mut Vec<Run>,
}

impl Each<'_> {
    /// Runs each setting by `one`, which moves the bar.
    fn run(self, one: impl Fn(Setting, &ProgressBar) -> Result<Run>) -> Result<()> {
        let Self { args, digits, runs } = self;
        for setting in config::settings(args) {
            let (level, dtype) = setting;
            let name = format!("{level} {dtype} on {}", digits.name);
            let batches = config::batches(args, digits.train.len()) * args.epochs as usize;
            let bar = progress(name, batches as u64, "batches");
            let run = one(setting, &bar);
            bar.finish_and_clear();
            runs.push(run.map_err(|error| format!("{level} {dtype}: {error}"))?);
        }
        Ok(())
    }
}

impl OnDevice for Each<'_> {
    fn on<D: Trains>(self, device: &D) -> Result<()> {
        let Self { args, digits, .. } = self;
        self.run(|setting, bar| match args.ranks {
            None => train::run(device, args, setting, digits, bar),
            #[cfg(feature = "cuda")]
            Some(ranks) if args.device == DeviceKind::Cuda => {
                gpus::run(ranks as usize, args, setting, digits, bar)
            }
            Some(ranks) => ranks::run(ranks as usize, args, setting, digits, bar),
        })
    }
}
