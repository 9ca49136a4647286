//! Tests of ranks that are processes. This program starts itself with `mpirun`, as the program of every rank. Without `mpirun` its tests are reported
//! as ignored, or fail if `BINADE_REQUIRE` names `mpi`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod job;
mod memory;
#[path = "../../../binade-ranks/tests/observed.rs"]
mod observed;
mod programs;
mod resumed;
mod tests;
#[path = "../../../binade-ranks/tests/training.rs"]
mod training;

use libtest_mimic::{Arguments, Trial};
use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let mut args = env::args().skip(1);
    if args.next().as_deref() == Some(job::PROGRAM) {
        return programs::run(&args.next().unwrap_or_default());
    }
    let required = env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = required.split(',').any(|name| name.trim() == "mpi");
    let absent = job::absent().filter(|_| !is_required);
    if let Some(why) = &absent {
        eprintln!("ranks of MPI are not tested: {why}");
    }
    let trial = |(name, test): (&str, fn())| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(absent.is_some())
    };
    let mut arguments = Arguments::from_args();
    // Each job has more ranks than there are cores. Half of the tests only wait, until patience ends or `mpirun` ends a job.
    arguments.test_threads = Some(2);
    libtest_mimic::run(&arguments, tests::ALL.into_iter().map(trial).collect()).exit_code()
}
