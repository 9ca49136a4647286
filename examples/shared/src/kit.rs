//! Program that runs the kit on a subject.

use binade_conformance::{Report, Runner, report};
use clap::{Args, Parser};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fs, slice};

/// Holds a tensor library to Binade's contracts, and ends badly where one is broken.
#[derive(Parser)]
struct Cli<A: Args> {
    /// Runs the cases whose full name, `operation/variant/sentence`, contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Writes counts, table, failures and skips as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    more: A,
}

/// Exit status of a program that could not open its device, by which `run.sh` of binade-bench tells a skip.
const NOT_OPENED: u8 = 77;

/// No further arguments.
#[derive(Args, Clone, Copy, Debug)]
pub struct NoArguments {}

/// Runs the kit as the command line, with further arguments, and the environment say; prints the report, and writes it where that is
/// asked for.
pub fn main<A: Args>(run: impl FnOnce(A, Runner) -> Result<Report, Box<dyn Error>>) -> ExitCode {
    match ran(Cli::parse(), run) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(NOT_OPENED)
        }
    }
}

/// Returns true if every contract was kept.
fn ran<A: Args>(
    Cli { only, json, more }: Cli<A>,
    run: impl FnOnce(A, Runner) -> Result<Report, Box<dyn Error>>,
) -> Result<bool, Box<dyn Error>> {
    let report = run(more, only.into_iter().fold(Runner::from_env(), Runner::only))?;
    println!("{report}\n");
    if let Some(file) = json {
        fs::write(&file, report::json(slice::from_ref(&report)) + "\n")
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(report.is_success())
}
