//! Accuracy of every level over seeds, on real data. It prints tables, and keeps each run in a folder.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use binade_bench::Origin;
use binade_bench::accuracy::{Options, Task, measure};
use clap::{Parser, ValueEnum};

/// Trains a convolutional net on Fashion-MNIST and a GPT on plays, at every level, in both low types, with three seeds.
#[derive(Parser)]
#[command(name = "cargo xtask accuracy", max_term_width = 100)]
struct Cli {
    /// Keeps the runs in this folder and writes tables and plots there. Runs that it has are not repeated.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Folder of Fashion-MNIST's four files. If left out they come from Debian's package `dataset-fashion-mnist`, which apt
    /// downloads into target/fashion-mnist at the first time (31 MB).
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Trains these tasks only. Two programs, started one after the other, may do one each in the same folder.
    #[arg(long, value_name = "TASK", value_delimiter = ',')]
    only: Vec<Task>,
    /// The day, for the page.
    #[arg(long)]
    date: Option<String>,
    /// The commit that was built, for the page; a folder has runs of one.
    #[arg(long)]
    commit: Option<String>,
    /// Trains a few steps of tiny sizes, on the embedded digits: its figures mean nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Cli {
    fn run(self) -> Result<(), Box<dyn Error>> {
        let Self { out, data, mut only, date, commit, dry_run } = self;
        if only.is_empty() {
            only = Task::value_variants().to_vec();
        }
        let data =
            if dry_run || !only.contains(&Task::Images) { None } else { Some(images(data)?) };
        let origin = Origin::new("cargo xtask accuracy", date, commit);
        print!("{}", measure(&Options { out, data, only, dry_run }, origin)?);
        Ok(())
    }
}

/// Returns the folder of Fashion-MNIST, which is downloaded if none is named and none is there.
fn images(named: Option<PathBuf>) -> Result<PathBuf, String> {
    if let Some(folder) = named {
        return Ok(folder);
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../target/fashion-mnist");
    if !folder.exists() {
        let done = Command::new("bash").arg(here.join("fashion_mnist.sh")).arg(&folder).status();
        if !done.is_ok_and(|status| status.success()) {
            return Err("Fashion-MNIST was not downloaded; see above. Name a folder that has its four files with --data, or take \
                        --only text"
                .into());
        }
    }
    Ok(folder)
}

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
