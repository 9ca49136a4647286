//! Ranks of one run, each in a thread of its own.

use super::Result;
use indicatif::ProgressBar;
use std::thread;
use std::time::Duration;

/// Time that a rank waits for the others, which train on as much as it does.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// Calls `one` for each rank, in a thread of its own, and returns the results of all. Rank 0 alone shows progress.
///
/// # Errors
///
/// If a rank fails, with the errors of all that did.
pub fn each<R: Send, T: Send>(
    ranks: Vec<R>,
    bar: &ProgressBar,
    one: impl Fn(R, &ProgressBar) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let runs: Vec<Result<T, String>> = thread::scope(|scope| {
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
