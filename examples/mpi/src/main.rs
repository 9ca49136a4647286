//! Trains the digits classifier on the processes that `mpirun` or `srun` started: see `--help`.

use binade_example_digits::args::Args;
use binade_example_digits::{Result, session, table};
use binade_mpi::Mpi;
use binade_ranks::Group;
use clap::{CommandFactory, FromArgMatches};
use std::process::ExitCode;
use std::time::Duration;

/// Time that a rank waits for the others, which train on as much as it does.
const PATIENCE: Duration = Duration::from_mins(5);

const ABOUT: &str = "\
Trains a digits classifier at every opt level, data-parallel on the processes that mpirun or srun started: 1, 2, 4 or 8. Each has a part of \
the 8 shards of every batch, and any number of them ends with the same weights.";

const EXAMPLES: &str = "\
Examples:
  mpirun -n 4 digits_mpi --model mlp                          four processes on this machine
  mpirun -n 8 --hostfile hosts digits_mpi --model mlp         eight on those of the file hosts
  srun -n 8 --mpi=pmix digits_mpi --model mlp                 eight by Slurm
  mpirun -n 4 digits_mpi --model mlp --level O2 --dtype f16   one level";

fn main() -> ExitCode {
    binade_mpi::run(PATIENCE, rank)
}

fn rank(group: Mpi) -> Result<()> {
    let (is_first, ranks) = (group.rank() == 0, group.ranks());
    let command = Args::command().name("digits_mpi").about(ABOUT).after_help(EXAMPLES);
    // The launcher has said how many.
    let command = command.mut_arg("ranks", |arg| arg.hide(true));
    let args = command.try_get_matches().and_then(|matches| Args::from_arg_matches(&matches));
    let mut args = match args {
        Ok(args) => args,
        // All ranks have one command line, and one of them tells.
        Err(_) if !is_first => return Ok(()),
        Err(told) if told.use_stderr() => return Err(told.into()),
        Err(help) => return Ok(help.print()?),
    };
    if let Some(asked) = args.ranks.filter(|asked| *asked as usize != ranks) {
        return Err(format!("--ranks {asked}: there are {ranks} processes; leave it out").into());
    }
    args.ranks = Some(u32::try_from(ranks)?);
    let mut runs = Vec::new();
    let second = args.overlap.then(|| group.duplicate()).transpose()?;
    let outcome = session::run_rank(group, second, &args, &mut runs);
    if is_first && !runs.is_empty() {
        println!("{}", table::table(&runs));
    }
    outcome
}
