//! Program of a rank that keeps slices, saves every second step, and may be killed in the middle of a step.

use crate::programs::Outcome;
use crate::training::{STEPS, Setting, State, train};
use binade::OptLevel;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::ScaleState;
use binade_mpi::Mpi;
use binade_ranks::{Group, GroupError, Partition, Ranks};
use std::{
    env, fs,
    path::Path,
    process::{self, Command},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Variable that names the file of the state.
pub(crate) const FILE: &str = "BINADE_TEST_STATE";

/// Variable that names the exchange at which the last rank is killed.
pub(crate) const KILLED_AT: &str = "BINADE_TEST_KILLED_AT";

/// Returns what is trained: windows of three micro-batches, clipped, in `f16` with masters.
pub(crate) fn setting() -> Setting {
    Setting::new(OptLevel::O2, DType::F16).with_windows()
}

/// Returns the number of steps in the file of the state, and the checkpoint.
pub(crate) fn read(file: &Path) -> Option<(usize, Vec<u8>)> {
    let bytes = fs::read(file).ok()?;
    let (steps, checkpoint) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*steps).try_into().ok()?, checkpoint.to_vec()))
}

/// Group of which the last rank kills itself before an exchange.
struct Mortal {
    group: Mpi,
    /// Number of exchanges that are left, that one included.
    left: AtomicUsize,
}

impl Group for Mortal {
    fn rank(&self) -> usize {
        self.group.rank()
    }

    fn ranks(&self) -> usize {
        self.group.ranks()
    }

    fn all_gather(&self, own: &[u8], lengths: &[usize], all: &mut [u8]) -> Result<(), GroupError> {
        self.group.all_gather(own, lengths, all)
    }

    fn exchange(
        &self,
        send: &[u8],
        sends: &[usize],
        receive: &mut [u8],
        receives: &[usize],
    ) -> Result<(), GroupError> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 && self.rank() + 1 == self.ranks() {
            Command::new("kill").args(["-9", &process::id().to_string()]).status().unwrap();
        }
        self.group.exchange(send, sends, receive, receives)
    }

    fn broadcast(&self, root: usize, bytes: &mut [u8]) -> Result<(), GroupError> {
        self.group.broadcast(root, bytes)
    }
}

pub(crate) fn resumed(group: Mpi) -> Outcome {
    let killed_at = env::var(KILLED_AT).map_or(Ok(usize::MAX), |exchange| exchange.parse())?;
    let rank = Ranks::new(Cpu, Mortal { group, left: AtomicUsize::new(killed_at) });
    let rank = rank.with_partition(Partition::Slices);
    let (file, own) = (env::var(FILE)?, rank.group().rank());
    let (mut step, mut from) = match read(Path::new(&file)) {
        None => (0, None),
        Some((step, checkpoint)) => {
            let (scale, reports) = (ScaleState::from_exponent(0), Vec::new());
            (step, Some(State { checkpoint, scale, reports }))
        }
    };
    println!("rank {own} goes on from step {step}");
    while step < STEPS {
        let state = train(&rank, setting(), step..step + 2, from.as_ref());
        step += 2;
        if own == 0 {
            let written = format!("{file}.part");
            fs::write(&written, [&(step as u64).to_le_bytes(), &state.checkpoint[..]].concat())?;
            fs::rename(written, &file)?;
        }
        from = Some(state);
    }
    Ok(())
}
