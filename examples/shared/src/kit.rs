//! Program that runs the kit on a subject, as `cargo xtask conformance` starts it.

use binade_conformance::{Report, Runner, report};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io, slice};

/// Holds a tensor library to Binade's contracts, and ends badly where one is broken.
#[derive(Parser)]
struct Args {
    /// Runs the cases whose full name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Writes the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report as a page for a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Runs the kit as the command line and the environment say, and prints the report.
///
/// # Errors
///
/// If a report cannot be written; the file is named.
pub fn main(run: impl FnOnce(Runner) -> Report) -> io::Result<ExitCode> {
    let Args { only, json, html } = Args::parse();
    let runner = Runner::from_env();
    let report = run(only.into_iter().fold(runner, Runner::only));
    println!("{report}");
    let reports = slice::from_ref(&report);
    for (file, text) in [(json, report::json as fn(&[Report]) -> String), (html, report::html)] {
        file.map_or(Ok(()), |file| write(&file, &text(reports)))?;
    }
    Ok(if report.is_success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot write {}: {error}", file.display()))
    };
    fs::write(file, text).map_err(named)
}
