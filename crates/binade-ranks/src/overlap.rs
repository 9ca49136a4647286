//! Thread that exchanges buckets during backward, by a group of its own.
//!
//! A group's calls block, so another thread makes them. Its ranks meet before the first bucket. If one divides gradients differently, all learn it
//! before any waits for bytes that never arrive.

use crate::{
    Desync, Group, GroupError,
    average::{self, Averages, Buffers, Round, Shard},
    buckets::Layout,
    meeting::Apart,
};
use std::{
    io, mem,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, Sender},
    },
    thread::{self, JoinHandle},
};

/// Averages of a step in the set's order.
type Outcome = Result<Averages, Apart>;

/// Thread that exchanges buckets, and the size of a bucket. Dropping this ends the thread within the group's patience.
#[derive(Debug)]
pub(crate) struct Exchanger {
    pub(crate) bucket_bytes: usize,
    steps: Option<Mutex<Sender<Step>>>,
    thread: Option<JoinHandle<()>>,
}

/// Exchange of the gradients of one backward.
#[derive(Debug)]
struct Step {
    layout: Arc<Layout>,
    /// Number of this rank's shards.
    shards: usize,
    /// True if the averages are this rank's slices.
    is_sliced: bool,
    /// Every bucket of the first shard, then every bucket of the next. If the channel closes before the last bucket, backward was abandoned.
    buckets: Receiver<Shard>,
    done: Sender<Outcome>,
}

/// Averages that are being computed.
#[derive(Debug)]
pub(crate) struct Pending(Mutex<Receiver<Outcome>>);

impl Exchanger {
    /// Starts the thread, which owns the group.
    pub(crate) fn start<G: Group>(group: G, bucket_bytes: usize) -> io::Result<Self> {
        let (steps, queue) = mpsc::channel::<Step>();
        let run = move || {
            let (mut end, mut buffers) = (None, Buffers::default());
            for step in queue {
                let outcome = match &end {
                    None => exchange(&group, &step, &mut buffers),
                    Some(apart) => Err(Apart::clone(apart)),
                };
                end = outcome.as_ref().err().cloned();
                // Nobody waits if the gradients were dropped, or if some rank overflowed.
                drop(step.done.send(outcome));
            }
        };
        let thread = thread::Builder::new().name("binade-exchange".into()).spawn(run)?;
        Ok(Self { bucket_bytes, steps: Some(Mutex::new(steps)), thread: Some(thread) })
    }

    /// Begins the exchange of this rank's shards. Returns the sender for their buckets, and the pending averages, whole or this rank's slices.
    pub(crate) fn begin(
        &self,
        layout: Arc<Layout>,
        shards: usize,
        is_sliced: bool,
    ) -> (Sender<Shard>, Pending) {
        let (sender, buckets) = mpsc::channel();
        let (done, outcome) = mpsc::channel();
        if let Some(steps) = &self.steps {
            let steps = steps.lock().unwrap_or_else(PoisonError::into_inner);
            // If the thread has ended, the outcome is missing, which `wait` reports.
            drop(steps.send(Step { layout, shards, is_sliced, buckets, done }));
        }
        (sender, Pending(Mutex::new(outcome)))
    }
}

impl Drop for Exchanger {
    fn drop(&mut self) {
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            // Its panic has been printed.
            drop(thread.join());
        }
    }
}

impl Pending {
    /// Waits for the averages.
    pub(crate) fn wait(self) -> Outcome {
        let outcome = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let why = || "the thread that exchanges gradients has panicked".to_owned();
        let gone = |_| Apart::Group(GroupError::Failed { call: "exchange", why: why() });
        outcome.recv().map_err(gone)?
    }
}

/// Exchanges all buckets of a step and returns the averages.
///
/// A rank that abandons its backward sends zeros for the remaining buckets, so that no other rank waits for it; `unscale` reports the failure.
fn exchange<G: Group>(group: &G, step: &Step, buffers: &mut Buffers) -> Outcome {
    let Step { layout, shards, is_sliced, buckets, .. } = step;
    let all = meet(group, layout, *shards)?;
    let most = all.iter().copied().max().unwrap_or_default();
    let bucket = |bucket: usize| {
        let entries = layout.entries(bucket);
        let round = Round::whole(&entries, group.ranks());
        // Terms received so far, by shard.
        (round, Vec::new(), average::empty(group, &entries, *is_sliced))
    };
    let mut all_buckets: Vec<_> = (0..layout.buckets.len()).map(bucket).collect();
    for shard in 0..most {
        let now: Vec<usize> = all.iter().map(|shards| usize::from(shard < *shards)).collect();
        for (round, terms, averages) in &mut all_buckets {
            let own = (shard < *shards).then(|| buckets.recv().unwrap_or_default());
            buffers.exchange(group, round, &now, own.as_slice())?;
            terms.push(mem::take(&mut buffers.terms));
            if shard + 1 == most {
                let terms = in_order_of_ranks(mem::take(terms), &all);
                let shards = all.iter().sum();
                buffers.mean(group, round, (&terms, shards), *is_sliced, averages)?;
                buffers.terms = terms;
            }
        }
    }
    Ok(layout.in_set_order(all_buckets.into_iter().flat_map(|(.., averages)| averages).collect()))
}

/// Reorders the terms of one bucket from the order of shards to the order of ranks, and of shards within a rank.
fn in_order_of_ranks(mut by_shard: Vec<Vec<u8>>, shards: &[usize]) -> Vec<u8> {
    if by_shard.len() == 1 {
        return by_shard.swap_remove(0);
    }
    let mut ordered = Vec::new();
    for (rank, own) in shards.iter().enumerate() {
        for (shard, terms) in by_shard.iter().take(*own).enumerate() {
            let here = |ranks: &[usize]| ranks.iter().filter(|shards| shard < **shards).count();
            let (before, of) = (here(&shards[..rank]), here(shards));
            let len = terms.len() / of;
            ordered.extend(&terms[before * len..(before + 1) * len]);
        }
    }
    ordered
}

/// Meets the other ranks before the first bucket, and returns each rank's number of shards.
fn meet<G: Group>(group: &G, layout: &Layout, shards: usize) -> Result<Vec<usize>, Apart> {
    const WORDS: usize = 2;
    let own: Vec<u8> =
        [shards as u64, layout.hash].into_iter().flat_map(u64::to_le_bytes).collect();
    let mut all = vec![0; own.len() * group.ranks()];
    group.all_gather(&own, &vec![own.len(); group.ranks()], &mut all)?;
    let (words, _) = all.as_chunks::<8>();
    let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let (rows, _) = words.as_chunks::<WORDS>();
    agree(rows)?;
    let shards = rows.iter().map(|row| usize::try_from(row[0]).unwrap_or(usize::MAX));
    Ok(shards.collect())
}

/// Returns an error if ranks divide gradients into different buckets.
fn agree(rows: &[[u64; 2]]) -> Result<(), Apart> {
    let ranks: Vec<usize> = (0..rows.len()).filter(|rank| rows[*rank][1] != rows[0][1]).collect();
    match ranks.first() {
        None => Ok(()),
        Some(other) => {
            let values = [0, *other].map(|rank| format!("the hash {:x}", rows[rank][1]));
            Err(Apart::Desync(Desync { what: "the buckets of gradients", ranks, values }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_lie_in_the_order_of_ranks_and_of_the_shards_of_each() {
        // Rank 0 has one shard, rank 1 three, rank 2 none, rank 3 two.
        let by_shard = [vec![10, 11, 30], vec![12, 31], vec![13]]
            .map(|terms| terms.into_iter().flat_map(|term: u8| [term, term]).collect::<Vec<u8>>());
        let ordered = in_order_of_ranks(by_shard.to_vec(), &[1, 3, 0, 2]);
        let expected = [10, 11, 12, 13, 30, 31].map(|term: u8| [term, term]).concat();
        assert_eq!(ordered, expected);
    }
}
