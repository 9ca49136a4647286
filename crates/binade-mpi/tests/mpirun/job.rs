//! Jobs: this program, started as several ranks.

use std::{
    env,
    process::Command,
    time::{Duration, Instant},
};

/// Argument before the name of the program of a rank.
pub(crate) const PROGRAM: &str = "--rank-program";

/// Time limit of a job in seconds. A job that exceeds it is killed, and its test fails.
const LIMIT: &str = "120";

/// End of a job.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) errors: String,
    pub(crate) took: Duration,
}

/// Returns the reason if no job can be started.
pub(crate) fn absent() -> Option<String> {
    let told = Command::new("mpirun").arg("--version").output();
    let advice = "apt-get install libopenmpi-dev openmpi-bin";
    told.err().map(|error| format!("mpirun: {error}; {advice}"))
}

/// Runs a rank's program on this many ranks.
pub(crate) fn on_ranks(ranks: usize, program: &str) -> End {
    on_ranks_by(&[], ranks, program)
}

/// Runs a rank's program on this many ranks, with parameters of Open MPI.
pub(crate) fn on_ranks_by(parameters: &[&str], ranks: usize, program: &str) -> End {
    ended(&[&["mpirun", "-n", &ranks.to_string()], parameters].concat(), &[], program)
}

/// Runs a rank's program on this many ranks, with environment variables.
pub(crate) fn on_ranks_with(variables: &[(&str, &str)], ranks: usize, program: &str) -> End {
    ended(&["mpirun", "-n", &ranks.to_string()], variables, program)
}

/// Runs a rank's program without `mpirun`.
pub(crate) fn alone(program: &str) -> End {
    ended(&[], &[], program)
}

fn ended(launcher: &[&str], variables: &[(&str, &str)], program: &str) -> End {
    let begun = Instant::now();
    let mut job = Command::new("timeout");
    job.args(["--kill-after=5", LIMIT]).args(launcher).arg(env::current_exe().unwrap());
    job.args([PROGRAM, program]).envs(variables.iter().copied());
    // Equals `--allow-run-as-root --oversubscribe`, which other launchers do not accept.
    job.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    job.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    job.env("OMPI_MCA_mpi_yield_when_idle", "1");
    // In containers a process cannot read the memory of another.
    job.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    let output = job.output().unwrap();
    let [out, errors] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
    let end = End { code: output.status.code(), out, errors, took: begun.elapsed() };
    assert_ne!(end.code, Some(124), "killed after {LIMIT} s: {end:?}");
    end
}

impl End {
    /// Returns the lines of what ranks print.
    pub(crate) fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// Asserts that all ranks succeeded.
    pub(crate) fn well(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:?}");
        self
    }

    /// Asserts that the job failed long before the patience of any rank ended.
    pub(crate) fn failed_soon(self) -> Self {
        assert_ne!(self.code, Some(0), "{self:?}");
        assert!(self.took < Duration::from_secs(20), "{self:?}");
        self
    }
}
