//! Builds, checks and measures the project. One file per command; `cargo xtask --help` lists them.
//!
//! It imports no crate of the house and starts binaries instead, so that it still builds, and still says what is wrong,
//! when the crates do not.

#![forbid(unsafe_code)]

mod ci;
mod conformance;
mod house;
mod replay;
mod shell;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What every command returns: the message is all that a person needs.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Builds, checks and measures the project.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs everything that CI runs, in order, and prints seconds per stage.
    Ci(ci::Ci),
    /// Checks what the compiler cannot: floors, the operation grid, sizes, docs, manifests.
    Tidy,
    /// Holds a device to every contract of the kit, and ends badly where one is broken.
    Conformance(conformance::Conformance),
    /// Replays recorded traces of other libraries (`*.json.gz`) and prints `N passed, N failed`.
    Replay(replay::Replay),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Ci(ci) => ci.run(),
        Command::Tidy => tidy::run(),
        Command::Conformance(conformance) => conformance.run(),
        Command::Replay(replay) => replay.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
