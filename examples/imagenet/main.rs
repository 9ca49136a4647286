//! Trains a residual net on a folder of images, as Apex's `examples/imagenet/main_amp.py` does: see `--help`.

use binade_example_imagenet::args::Args;
use binade_example_imagenet::session;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match session::run(&Args::parse()) {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
