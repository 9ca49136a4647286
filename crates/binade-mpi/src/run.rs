//! Program of a rank. MPI starts before it, and ends after it, also if the program fails.

use crate::{Mpi, State};
use std::{
    fmt::Display,
    io::{self, Write},
    process::{self, ExitCode},
    sync::{Arc, Mutex, TryLockError},
    thread,
    time::Duration,
};

/// Runs `program` as one of the ranks that `mpirun` or `srun` started, or as the only rank without a launcher. Every call of the group waits at most
/// `patience` for the other ranks.
///
/// If the program returns an error or panics, every rank ends at once, since the others would wait for this one. The error is first written to the
/// standard error, with the rank. After a success the rank waits at most `patience` for the others, and ends MPI.
///
/// # Examples
///
/// ```
/// use binade_ranks::Group;
/// use std::{process::ExitCode, time::Duration};
///
/// fn main() -> ExitCode {
///     binade_mpi::run(Duration::from_secs(60), |group| {
///         let mut all = vec![0; group.ranks()];
///         group.all_gather(&[7], &vec![1; group.ranks()], &mut all)?;
///         assert!(all.iter().all(|byte| *byte == 7));
///         Ok::<(), binade_ranks::GroupError>(())
///     })
/// }
/// ```
pub fn run<E: Display>(patience: Duration, program: impl FnOnce(Mpi) -> Result<(), E>) -> ExitCode {
    let group = match Mpi::start(patience) {
        Ok(group) => group,
        Err(why) => {
            tell(&format!("error: MPI did not start: {why}\n"));
            return ExitCode::FAILURE;
        }
    };
    let (rank, ranks) = (group.rank, group.ranks);
    let own = Mpi { state: Arc::clone(&group.state), ..group };
    // The guard ends every rank if it is dropped before MPI has ended.
    let _guard = Guard { state: Arc::clone(&group.state) };
    let outcome = program(group).map_err(|error| error.to_string());
    match outcome.and_then(|()| own.finish().map_err(|error| error.to_string())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error on rank {rank} of {ranks}: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line in one call, so that lines of several ranks do not mix.
fn tell(line: &str) {
    // An error of a closed standard error cannot be reported.
    let _ = io::stderr().write_all(line.as_bytes());
}

struct Guard {
    state: Arc<Mutex<State>>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        let code = if thread::panicking() { 101 } else { 1 };
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(state)) => state.into_inner(),
            // Another thread of the program is in MPI, perhaps for long. The launcher ends the job of a rank that exits with this code.
            Err(TryLockError::WouldBlock) => process::exit(code),
        };
        if let Some(world) = state.world.take() {
            // Lines still in the buffer would be lost.
            let _ = io::stdout().flush();
            world.abort(code);
        }
    }
}
