//! Trains a character-level GPT and prints its loss curve and a sample of text: see `--help`.

use binade_example_gpt::args::Args;
use binade_example_gpt::{report, session};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut runs = Vec::new();
    let outcome = session::run(&Args::parse(), &mut runs);
    if !runs.is_empty() {
        println!("{}", report::report(&runs));
    }
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
