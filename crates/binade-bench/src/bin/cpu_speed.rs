//! Benchmark of the CPU backend, alone or beside PyTorch. It prints a table and writes files on request.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{fs, thread};

use binade_bench::Origin;
use binade_bench::cpu::{Options, draw, measure, peak};
use clap::{Parser, ValueEnum};

/// Measures the CPU backend: gradients, casts, steps, overheads, products, attention, and training.
#[derive(Parser)]
#[command(name = "cargo xtask bench", max_term_width = 100)]
struct Cli {
    /// Measures another library on the same machine, in turn with ours; PyTorch is installed in target/torch at the first time
    /// (5 GB).
    #[arg(long, value_name = "LIBRARY")]
    peer: Option<Library>,
    /// Python that has PyTorch 2.15, in place of an installation.
    #[arg(long, value_name = "FILE", requires = "peer")]
    python: Option<PathBuf>,
    /// Writes every figure as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the table, the figures and the plots into this folder.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Measures these groups only: unscale, `clip_norm`, cast, step, embedding, scaler, autocast, matmul, attention, mlp, digits, gpt, and
    /// the plots' points, parameters and tensors.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    only: Vec<String>,
    /// Threads of either side; all cores if left out.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Seconds that the rounds of a row take at least.
    #[arg(long, value_name = "X", default_value_t = 1.5)]
    seconds: f64,
    /// The day, for the files.
    #[arg(long)]
    date: Option<String>,
    /// The commit that was built, for the files.
    #[arg(long)]
    commit: Option<String>,
    /// Runs everything once at tiny sizes: its times mean nothing.
    #[arg(long)]
    dry_run: bool,
    /// Prints the peak of memory of this row alone.
    #[arg(long, hide = true)]
    memory: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Library {
    Torch,
}

impl Cli {
    fn run(self) -> Result<(), Box<dyn Error>> {
        let cores = || thread::available_parallelism().map_or(1, Into::into);
        let threads = self.threads.unwrap_or_else(cores);
        if let Some(row) = self.memory {
            println!("{}", peak(&row, threads, self.dry_run)?.unwrap_or_default());
            return Ok(());
        }
        let peer = self.peer.map(|Library::Torch| torch(self.python)).transpose()?;
        let origin = Origin::new("cargo xtask bench", self.date, self.commit);
        let options = Options {
            threads,
            seconds: self.seconds,
            only: self.only,
            peer,
            dry_run: self.dry_run,
        };
        let page = measure(&options, origin)?;
        print!("{page}");
        let json = serde_json::to_string_pretty(&page)? + "\n";
        self.json.iter().try_for_each(|file| write(file, &json))?;
        if let Some(folder) = self.out {
            fs::create_dir_all(&folder)?;
            write(&folder.join("figures.json"), &json)?;
            write(&folder.join("README.md"), &format!("# CPU\n\n{page}"))?;
            draw(&page, &folder)?;
        }
        Ok(())
    }
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Returns a Python with PyTorch, which is installed if none is named and none is there, and the script of the rows.
fn torch(python: Option<PathBuf>) -> Result<[PathBuf; 2], String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../target/torch");
    let python = python.unwrap_or_else(|| folder.join("bin/python"));
    if !python.exists() {
        eprintln!("installing PyTorch in target/torch, some minutes");
        let done = Command::new("bash").arg(here.join("install_torch.sh")).arg(&folder).status();
        if !done.is_ok_and(|status| status.success()) {
            return Err(
                "PyTorch was not installed; see above, or name a Python that has it with --python"
                    .into(),
            );
        }
    }
    Ok([python, here.join("torch_cpu.py")])
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
