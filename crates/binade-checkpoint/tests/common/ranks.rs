//! Ranks that are threads, on the CPU.

use super::{Setting, Training, device::Trains};
use binade_checkpoint::{Checkpoint, Loaded};
use binade_core::{DType, Named, NamedGrads};
use binade_cpu::{Cpu, Tensor};
use binade_ranks::{Group, Partition, RankGrads, Ranks, Threads, threads};
use std::path::Path;
use std::{thread, time::Duration};

impl<G: Group> Trains for Ranks<Cpu, G> {
    fn tensor(&self, values: &[f32], shape: &[usize], dtype: DType) -> Tensor {
        Cpu.tensor(values, shape, dtype)
    }

    fn set(&self, params: Vec<Named<Tensor>>) -> Vec<Named<Tensor>> {
        params
    }

    fn grads(&self, grads: NamedGrads<Tensor>) -> RankGrads<Cpu> {
        grads.into()
    }
}

/// Runs each of `ranks` in a thread, and returns their results in order.
pub fn each<T: Send>(ranks: usize, run: impl Fn(Threads) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let run = &run;
        let groups = threads(ranks, Duration::from_mins(1)).into_iter();
        let running: Vec<_> = groups.map(|group| scope.spawn(move || run(group))).collect();
        running.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// State that ranks keep and save.
#[derive(Clone, Copy, Debug)]
pub enum Keeps {
    /// Whole state on every rank.
    Whole,
    /// Slices, gathered for saving.
    Gathered,
    /// Slices, saved as slices.
    Slices,
}

impl Keeps {
    /// Makes a rank of this group.
    pub fn on<G: Group>(self, group: G) -> Ranks<Cpu, G> {
        let rank = Ranks::new(Cpu, group);
        match self {
            Self::Whole => rank,
            Self::Gathered => rank.with_partition(Partition::Slices),
            Self::Slices => rank.with_partition(Partition::Slices).with_saved_slices(),
        }
    }
}

/// Ranks by number, and the state that they keep.
pub type Crew = (usize, Keeps);

/// Resumes from the checkpoint at a path, if there is one, runs some micro-batches, and writes a new checkpoint there by rank.
pub fn go_on((ranks, keeps): Crew, setting: &Setting, path: &Path, micro_batches: usize) {
    each(ranks, |group| {
        let rank = keeps.on(group);
        let mut run = match Checkpoint::read_by_rank(&rank, path) {
            Ok(Loaded::Last(checkpoint)) => Training::resumed(&rank, setting, &checkpoint),
            Ok(Loaded::Previous { why, .. }) => panic!("{why}"),
            Err(why) => {
                assert!(why.to_string().starts_with("there is no checkpoint"), "{why}");
                Training::new(&rank, setting)
            }
        };
        run.run(micro_batches);
        let checkpoint = run.checkpoint();
        checkpoint.write_by_rank(&rank, path).unwrap();
        if !matches!(keeps, Keeps::Slices) {
            let read = Checkpoint::read(path).unwrap();
            assert_eq!(format!("{read:?}"), format!("{checkpoint:?}"));
        }
        // The next checkpoint would remove files that another rank still reads.
        rank.gather("the end of reading", &[]).unwrap();
    });
}
