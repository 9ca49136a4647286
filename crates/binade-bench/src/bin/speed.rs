//! Benchmark of the CUDA backend on a GPU. It prints a table and writes a file on request. The PTX interpreter is refused but for
//! a dry run.

use std::{error::Error, fs, path::PathBuf, process::ExitCode};

use binade_bench::speed::{Options, Origin, measure};
use clap::Parser;

/// Measures the CUDA backend on the first GPU.
#[derive(Parser)]
#[command(name = "speed")]
struct Cli {
    /// Writes everything as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// The day, for the file.
    #[arg(long)]
    date: Option<String>,
    /// The driver's version, as `nvidia-smi` has it, for the file.
    #[arg(long)]
    driver: Option<String>,
    /// The commit that was built, for the file.
    #[arg(long)]
    commit: Option<String>,
    /// Measures these groups only, and the ceilings that they are held against: unscale, norm, cast, gradients, step, scaler, matmul, mlp, upload.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<String>,
    /// Lengths of the vectors, in elements.
    #[arg(long, value_name = "COUNT", value_delimiter = ',', default_values_t = [1 << 20, 1 << 24, 1 << 28, 1 << 30])]
    elements: Vec<usize>,
    /// Rounds of each, of which the median is taken: figures to keep want 20 at least, a profiler's counters want 1.
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Runs everything once at tiny sizes, on whatever device there is: its times mean nothing.
    #[arg(long)]
    dry_run: bool,
}

impl Cli {
    fn run(self) -> Result<(), Box<dyn Error>> {
        let (date, driver, commit) = (self.date, self.driver, self.commit);
        let origin = Origin { date, driver, commit, command: command() };
        let (dry_run, rounds) = (self.dry_run, self.rounds.into());
        let options = Options { dry_run, rounds, only: self.only, elements: self.elements };
        let page = measure(options, origin)?;
        print!("{page}");
        if let Some(path) = self.json {
            let text = serde_json::to_string_pretty(&page)? + "\n";
            fs::write(&path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }
}

/// Returns the command line, the program by its name alone.
fn command() -> String {
    std::iter::once("speed".to_owned())
        .chain(std::env::args().skip(1))
        .collect::<Vec<_>>()
        .join(" ")
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
