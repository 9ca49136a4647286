//! Trains a digits classifier at every opt level and prints one table: see `--help`.

use binade_example_digits::args::Args;
use binade_example_digits::record::Record;
use binade_example_digits::{session, table};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut record = Record::default();
    let outcome = session::run(&Args::parse(), &mut record);
    if !record.runs.is_empty() {
        println!("{}", table::table(&record.runs));
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
