//! One run on several ranks, which are threads, or what the caller has.

use crate::Result;
use crate::args::Args;
use crate::config::Setting;
use crate::data::Digits;
use crate::record::Run;
use crate::saved::Files;
use crate::train;
use binade_cpu::Cpu;
use binade_example_shared::program::{Norm, PATIENCE, Part, each};
use binade_ranks::{Group, Partition, Ranks, Threads, threads};
use binade_tape::Var;
use indicatif::ProgressBar;

/// Shards of a batch on ranks, on however many of them: so the number of ranks changes no bit.
pub(crate) const SHARDS: usize = 8;

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
    // Images that are normalised as one batch are one shard a rank.
    let (of, norm): (_, Norm<_>) = if args.sync_bn {
        (device.group().ranks(), Var::sync_batch_norm)
    } else {
        (SHARDS, Var::batch_norm)
    };
    let (part, files) = (Part::of_rank(device, of, norm), Some(Files::by_rank()));
    let run = train::part(device, part, files, args, setting, digits, bar)?;
    let own = run.weights.unwrap_or_default().to_ne_bytes();
    let ranks = device.group().ranks();
    let mut all = vec![0; own.len() * ranks];
    device.group().all_gather(&own, &vec![own.len(); ranks], &mut all)?;
    if all.chunks(own.len()).any(|weights| weights != own) {
        return Err("ranks end with different weights".into());
    }
    Ok(run)
}
