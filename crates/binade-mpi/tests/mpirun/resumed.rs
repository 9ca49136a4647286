//! Program of a rank that has slices, saves every second step, and may be killed in the middle of a step.

use crate::observed::Observed;
use crate::programs::Outcome;
use crate::training::{STEPS, Setting, State, train};
use binade::OptLevel;
use binade_core::DType;
use binade_cpu::Cpu;
use binade_grad_scaler::ScaleState;
use binade_mpi::Mpi;
use binade_ranks::{Group, Partition, Ranks};
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

/// Returns the setting: windows of three micro-batches, clipped, in `f16` with masters.
pub(crate) fn setting() -> Setting {
    Setting::new(OptLevel::O2, DType::F16).with_windows()
}

/// Returns the number of steps in the file of the state, and the checkpoint.
pub(crate) fn read(file: &Path) -> Option<(usize, Vec<u8>)> {
    let bytes = fs::read(file).ok()?;
    let (steps, checkpoint) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*steps).try_into().ok()?, checkpoint.to_vec()))
}

/// Returns a group whose last rank kills itself before its exchange with this number, from 1.
fn mortal(group: Mpi, killed_at: usize) -> impl Group {
    let (is_last, left) = (group.rank() + 1 == group.ranks(), AtomicUsize::new(killed_at));
    let observe = move |call: &str, _: &mut Vec<u8>| {
        if call == "exchange" && left.fetch_sub(1, Ordering::Relaxed) == 1 && is_last {
            Command::new("kill").args(["-9", &process::id().to_string()]).status().unwrap();
        }
    };
    Observed { group, observe }
}

pub(crate) fn resumed(group: Mpi) -> Outcome {
    let killed_at = env::var(KILLED_AT).map_or(Ok(usize::MAX), |exchange| exchange.parse())?;
    let rank = Ranks::new(Cpu, mortal(group, killed_at));
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
