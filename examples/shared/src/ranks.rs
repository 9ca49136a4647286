//! Program around a training loop on several ranks, which are threads here.

use binade::prelude::Step;
use binade_ranks::{Group, Threads, threads};
use std::{env, ops::Range, thread, time::Duration};

/// Result of a rank. The error is that of the library that noticed it.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Number of shards that each batch is divided into, on any number of ranks.
pub const SHARDS: usize = 8;

/// Time that a rank waits for the others.
const PATIENCE: Duration = Duration::from_mins(5);

/// End of a rank's training.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ended {
    /// Bits of the weights.
    pub weights: Vec<u32>,
    /// Mean loss of this rank's shards in each step.
    pub losses: Vec<f32>,
    /// Report of each step that was skipped.
    pub skipped: Vec<String>,
}

impl Ended {
    /// Records a step and the losses of this rank's shards before it.
    ///
    /// # Errors
    ///
    /// The report of a run that has diverged.
    #[expect(clippy::cast_precision_loss, reason = "shards are few")]
    pub fn record(&mut self, losses: &[f32], step: Step) -> Result<()> {
        self.losses.push(losses.iter().sum::<f32>() / losses.len() as f32);
        if let Step::Skipped(report) = &step {
            self.skipped.push(report.to_string());
        }
        step.unless_diverged()?;
        Ok(())
    }

    /// Returns the losses of the first and of the last step.
    fn ends(&self) -> [f32; 2] {
        [self.losses.first(), self.losses.last()].map(|loss| loss.copied().unwrap_or(f32::NAN))
    }
}

/// Returns the shards of this rank.
pub fn shards<G: Group>(group: &G) -> Range<usize> {
    let (rank, ranks) = (group.rank(), group.ranks());
    rank * SHARDS / ranks..(rank + 1) * SHARDS / ranks
}

/// Returns the factor of a shard's loss: 1, and in step 10 so large a number for the last shard that `f16` overflows on its rank.
pub fn factor(step: usize, shard: usize) -> f32 {
    if (step, shard) == (10, SHARDS - 1) { 1e6 } else { 1.0 }
}

/// Runs `rank` in as many threads, and returns their ends in the order of ranks.
///
/// # Errors
///
/// The error of the first rank that failed.
pub fn run(ranks: usize, rank: impl Fn(Threads) -> Result<Ended> + Sync) -> Result<Vec<Ended>> {
    thread::scope(|scope| {
        let start = |group| scope.spawn(|| rank(group));
        let running: Vec<_> = threads(ranks, PATIENCE).into_iter().map(start).collect();
        let ends =
            running.into_iter().map(|rank| rank.join().unwrap_or(Err("a rank panicked".into())));
        ends.collect()
    })
}

/// Runs `rank` in as many threads as `--ranks` names, or four, and prints how they ended.
///
/// # Errors
///
/// If a rank failed, or ranks ended with different weights; if `--ranks` names no number that divides the shards.
pub fn main(rank: impl Fn(Threads) -> Result<Ended> + Sync) -> Result<()> {
    let ranks = asked(env::args().skip(1))?;
    let ends = run(ranks, rank)?;
    let first = &ends[0];
    if ends.iter().any(|end| end.weights != first.weights) {
        return Err("ranks ended with different weights".into());
    }
    println!("{ranks} ranks, threads of this process; {SHARDS} shards a step");
    for report in &first.skipped {
        println!("every rank: {report}");
    }
    let [begin, end] = first.ends();
    println!("rank 0's loss: {begin:.4} in the first step, {end:.4} in the last");
    println!("every rank ended with the same weights, of the hash {:016x}", hash(&first.weights));
    Ok(())
}

/// Returns the number of ranks that the arguments name.
fn asked(arguments: impl Iterator<Item = String>) -> Result<usize> {
    let usage = || format!("--ranks N, of 1 to {SHARDS} that divide {SHARDS} shards");
    match &*arguments.collect::<Vec<_>>() {
        [] => Ok(4),
        [option, number] if option == "--ranks" => {
            let ranks = number
                .parse()
                .ok()
                .filter(|ranks| (1..=SHARDS).contains(ranks) && SHARDS.is_multiple_of(*ranks));
            ranks.ok_or_else(|| format!("--ranks {number}: expected {}", usage()).into())
        }
        _ => Err(format!("expected {}", usage()).into()),
    }
}

/// FNV-1a of words.
fn hash(words: &[u32]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Asserts what each program with this `rank` claims: it learns, any number of ranks ends with the same bits, and the last rank's overflow
/// is named on all.
///
/// # Panics
///
/// If one is not so.
pub fn check(rank: impl Fn(Threads) -> Result<Ended> + Sync) {
    let run = |ranks| run(ranks, &rank).unwrap_or_else(|error| panic!("{ranks} ranks: {error}"));
    let one = run(1).remove(0);
    let [begin, end] = one.ends();
    assert!(end < 0.8 * begin, "{begin} to {end}");
    for ranks in [2, 4] {
        let ends = run(ranks);
        for end in &ends {
            assert!(end.weights == one.weights, "{ranks} ranks ended with other weights than one");
            assert_eq!(end.skipped, ends[0].skipped);
            assert_eq!(end.skipped.len(), one.skipped.len());
        }
        let named = format!(" of rank {} is ", ranks - 1);
        let last = ends[0].skipped.last().map_or("", |report| report);
        assert!(last.contains(&named), "no{named}in {last}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_ranks_divides_the_shards() {
        let asked = |line: &str| asked(line.split_whitespace().map(str::to_owned));
        assert_eq!(asked("").unwrap(), 4);
        assert_eq!(asked("--ranks 8").unwrap(), 8);
        for line in ["--ranks 3", "--ranks 0", "--ranks 16", "--ranks", "--slices"] {
            assert!(asked(line).is_err(), "{line}");
        }
        assert_eq!(hash(&[1, 2]), hash(&[1, 2]));
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
    }
}
