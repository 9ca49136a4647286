//! The program, started by `mpirun`: its weights are those of threads. Without `mpirun` nothing is tested, unless `BINADE_REQUIRE` names `mpi`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use binade_example_digits::{args::Args, session};
use clap::Parser;
use std::{env, process::Command};

const LINE: &str = "--model mlp --level O2 --dtype f16 --epochs 1 --clip-norm 0.5";

/// Returns what the program prints on so many ranks, and whether it ended well; nothing without `mpirun`.
fn on_ranks(ranks: usize, line: &str) -> Option<(bool, String)> {
    if let Err(error) = Command::new("mpirun").arg("--version").output() {
        let required = env::var("BINADE_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|name| name.trim() == "mpi"), "mpirun: {error}");
        eprintln!("not tested: mpirun: {error}; apt-get install libopenmpi-dev openmpi-bin");
        return None;
    }
    // As `--allow-run-as-root --oversubscribe`; containers forbid a process to read another's memory.
    let output = Command::new("timeout")
        .args(["--kill-after=5", "60", "mpirun", "-n", &ranks.to_string()])
        .arg(env!("CARGO_BIN_EXE_digits_mpi"))
        .args(line.split(' '))
        .env("NO_COLOR", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        .output()
        .unwrap();
    let told = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap()).concat();
    Some((output.status.success(), told))
}

#[test]
fn processes_end_with_the_weights_of_threads_and_one_of_them_prints() {
    let mut runs = Vec::new();
    let args = Args::parse_from(format!("digits {LINE} --ranks 2").split(' '));
    session::run(&args, &mut runs).unwrap();
    let expected =
        format!("every rank ended with weights of the hash {:016x}", runs[0].weights.unwrap());
    let sliced = format!("{LINE} --slices");
    for (ranks, line) in [(1, LINE), (4, LINE), (4, &sliced)] {
        let Some((is_well, told)) = on_ranks(ranks, line) else { return };
        assert!(is_well && told.matches(&expected).count() == 1, "{told}");
        let Some((is_well, told)) = on_ranks(ranks, &format!("{LINE} --overlap")) else { return };
        assert!(is_well && told.matches(&expected).count() == 1, "{told}");
    }
}

#[test]
fn arguments_that_cannot_be_followed_are_told_and_help_is_printed_once() {
    for (ranks, line, expected) in [
        (3, LINE, "the 8 shards of a batch do not go evenly on them"),
        (2, "--model mlp --ranks 4", "--ranks 4: there are 2 processes"),
        (2, "--model tree", "invalid value 'tree'"),
    ] {
        let Some((is_well, told)) = on_ranks(ranks, line) else { return };
        assert!(!is_well && told.contains(expected), "{told}");
    }
    let Some((is_well, told)) = on_ranks(2, "--help") else { return };
    assert!(is_well && told.matches("Usage: digits_mpi").count() == 1, "{told}");
    assert!(!told.contains("--ranks"), "{told}");
}
