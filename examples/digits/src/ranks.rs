//! One run on several ranks, which are threads.

use crate::Result;
use crate::args::Args;
use crate::config::Setting;
use crate::data::Digits;
use crate::part::Part;
use crate::record::Run;
use crate::train;
use binade_cpu::Cpu;
use binade_ranks::{Group, Ranks, Threads, threads};
use indicatif::ProgressBar;
use std::thread;
use std::time::Duration;

/// Time that a rank waits for the others, which train on as much as it does.
const PATIENCE: Duration = Duration::from_mins(5);

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
    let one = |group: Threads| -> Result<Run, String> {
        let rank = group.rank();
        let bar = if rank == 0 { bar.clone() } else { ProgressBar::hidden() };
        let device = Ranks::new(Cpu, group);
        let part = Part::of_rank(&device);
        let run = train::part(&device, part, args, setting, digits, &bar);
        run.map_err(|error| format!("rank {rank}: {error}"))
    };
    let runs: Vec<Result<Run, String>> = thread::scope(|scope| {
        let one = &one;
        let running: Vec<_> =
            threads(ranks, PATIENCE).into_iter().map(|it| scope.spawn(move || one(it))).collect();
        let panicked = |_| Err("a rank panicked".to_owned());
        running.into_iter().map(|rank| rank.join().unwrap_or_else(panicked)).collect()
    });
    let errors: Vec<&str> = runs.iter().filter_map(|run| Some(&**run.as_ref().err()?)).collect();
    if !errors.is_empty() {
        return Err(errors.join("; ").into());
    }
    let runs: Vec<Run> = runs.into_iter().flatten().collect();
    if runs.iter().any(|run| run.weights != runs[0].weights) {
        let weights: Vec<_> = runs.iter().map(|run| run.weights).collect();
        return Err(format!("ranks end with different weights, of hashes {weights:x?}").into());
    }
    runs.into_iter().next().ok_or_else(|| "no rank ran".into())
}
