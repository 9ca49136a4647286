//! Trains a digits classifier at every opt level and prints one table: see `--help`.

use binade_example_digits::args::Args;
use binade_example_digits::{session, table};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut runs = Vec::new();
    let outcome = session::run(&Args::parse(), &mut runs);
    if !runs.is_empty() {
        println!("{}", table::table(&runs));
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
