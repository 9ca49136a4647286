//! One run on several ranks, which are threads, or what the caller has.

use crate::Result;
use crate::args::Args;
use crate::config::Setting;
use crate::data::Digits;
use crate::part::Part;
use crate::record::Run;
use crate::train;
use binade_cpu::Cpu;
use binade_ranks::{Group, Partition, Ranks, Threads, threads};
use indicatif::ProgressBar;
use std::thread;
use std::time::Duration;

/// Time that a rank waits for the others, which train on as much as it does.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// Bytes of a bucket of gradients, of which the embedded digits' model fills a few.
const BUCKET: usize = 16 << 10;

/// Trains and tests `setting` on `ranks` threads, and returns the figures of rank 0.
///
/// # Errors
///
/// If a rank fails, with the errors of all that did; if ranks end with different weights.
pub fn run(
    ranks: usize,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    bar: &ProgressBar,
) -> Result<Run> {
    let mut seconds = args.overlap.then(|| threads(ranks, PATIENCE)).into_iter().flatten();
    let groups = threads(ranks, PATIENCE).into_iter().map(|group| (group, seconds.next()));
    let one = |(group, second): (Threads, Option<Threads>), bar: &ProgressBar| {
        one_of(&device(group, second, args)?, args, setting, digits, bar)
    };
    each(groups.collect(), bar, one)?.into_iter().next().ok_or_else(|| "no rank ran".into())
}

/// Calls `one` for each rank, in a thread of its own, and returns the figures of all. Rank 0 alone shows progress.
///
/// # Errors
///
/// If a rank fails, with the errors of all that did.
pub(crate) fn each<R: Send>(
    ranks: Vec<R>,
    bar: &ProgressBar,
    one: impl Fn(R, &ProgressBar) -> Result<Run> + Sync,
) -> Result<Vec<Run>> {
    let runs: Vec<Result<Run, String>> = thread::scope(|scope| {
        let start = |(rank, own): (usize, R)| {
            let one = &one;
            let bar = if rank == 0 { bar.clone() } else { ProgressBar::hidden() };
            scope.spawn(move || one(own, &bar).map_err(|error| format!("rank {rank}: {error}")))
        };
        let running: Vec<_> = ranks.into_iter().enumerate().map(start).collect();
        let panicked = |_| Err("a rank panicked".to_owned());
        running.into_iter().map(|rank| rank.join().unwrap_or_else(panicked)).collect()
    });
    let errors: Vec<&str> = runs.iter().filter_map(|run| Some(&**run.as_ref().err()?)).collect();
    if !errors.is_empty() {
        return Err(errors.join("; ").into());
    }
    Ok(runs.into_iter().flatten().collect())
}

/// Returns the CPU as one rank of a group that keeps what `args` say. With a second group of the same ranks gradients are sent while
/// backward goes on.
///
/// # Errors
///
/// If the groups are of other ranks.
pub(crate) fn device<G: Group>(group: G, second: Option<G>, args: &Args) -> Result<Ranks<Cpu, G>> {
    let partition = if args.slices { Partition::Slices } else { Partition::Whole };
    let device = match second {
        Some(second) => Ranks::overlapping(Cpu, [group, second], BUCKET)?,
        None => Ranks::new(Cpu, group),
    };
    let device = device.with_partition(partition);
    Ok(if args.checkpoint_by_rank.is_some() { device.with_saved_slices() } else { device })
}

/// Trains and tests `setting` as one rank, whose `args` name the number of ranks, and returns its figures.
///
/// # Errors
///
/// If this rank fails, or another does not come; if ranks end with different weights.
pub fn one_of<G: Group>(
    device: &Ranks<Cpu, G>,
    args: &Args,
    setting: Setting,
    digits: &Digits,
    bar: &ProgressBar,
) -> Result<Run> {
    let run = train::part(device, Part::of_rank(device, args.sync_bn), args, setting, digits, bar)?;
    let own = run.weights.unwrap_or_default().to_ne_bytes();
    let ranks = device.group().ranks();
    let mut all = vec![0; own.len() * ranks];
    device.group().all_gather(&own, &vec![own.len(); ranks], &mut all)?;
    if all.chunks(own.len()).any(|weights| weights != own) {
        return Err("ranks end with different weights".into());
    }
    Ok(run)
}
