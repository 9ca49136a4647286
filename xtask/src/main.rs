//! Builds, checks and measures the project. One file per command; `cargo xtask --help` lists them.
//!
//! It imports no crate of the house and starts binaries instead, so that it still builds, and still says what is wrong,
//! when the crates do not.

#![forbid(unsafe_code)]

mod binaries;
mod ci;
mod coverage;
mod device;
mod files;
mod house;
mod issue;
mod kernels;
mod mutate;
mod packed;
mod shaders;
mod shell;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The result of every command: the message is all that a person needs.
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

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
    /// Checks what the compiler cannot: floors, sizes, docs, manifests.
    Tidy,
    /// Tells how much of each kernel the CUDA backend's tests ran in CI; less than 95 % without a reason is an error.
    Coverage,
    /// Compiles the CUDA kernels to the PTX that is committed, and holds the two together.
    Kernels(kernels::Kernels),
    /// Counts what ptxas makes of the kernels, and holds it to the budgets at the end of their sources; `--help` lists options.
    #[command(disable_help_flag = true)]
    Sass(Rest),
    /// Measures the CPU backend, and with `--peer torch` PyTorch beside it; `--help` lists options.
    #[command(disable_help_flag = true)]
    Bench(Rest),
    /// Trains on real data at every level, with three seeds, and prints tables of accuracy; `--help` lists options.
    #[command(disable_help_flag = true)]
    Accuracy(Rest),
    /// Composes the WGSL shaders to the text that is committed, validates them, and holds the two together.
    Shaders(shaders::Shaders),
    /// Changes CUDA kernels at random, one instruction at a time, and tells which changes no case notices.
    Mutate(mutate::Mutate),
    /// Builds the stand-in for the CUDA driver and prints the folder to put on the library path.
    Ptx {
        /// Puts stand-ins for cuBLASLt and cuDNN beside the driver's.
        #[arg(long)]
        libraries: bool,
    },
    /// Runs a command where it finds a device that runs on the CPU: `cargo xtask on ptx cargo test -p binade-cuda`.
    On(device::On),
}

/// Arguments of another program.
#[derive(clap::Args)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

impl Rest {
    fn of(self, program: &str) -> Result<()> {
        shell::Call::line(program).args(self.options).run()
    }
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Ci(ci) => ci.run(),
        Command::Tidy => tidy::run(),
        Command::Coverage => coverage::run(),
        Command::Kernels(kernels) => kernels.run(),
        Command::Sass(rest) => rest.of(r#"python3 "$ROOT/kernels/sass""#),
        Command::Bench(rest) => rest.of(
            "cargo run --release -p binade-bench --no-default-features --bin cpu_speed -- --date $(date -u +%F) \
             --commit $(git rev-parse --short=12 HEAD || echo unknown)",
        ),
        Command::Accuracy(rest) => rest.of(
            "cargo run --release -p binade-bench --no-default-features --bin accuracy -- --date $(date -u +%F) \
             --commit $(git rev-parse --short=12 HEAD || echo unknown)",
        ),
        Command::Shaders(shaders) => shaders.run(),
        Command::Mutate(mutate) => mutate.run(),
        Command::Ptx { libraries } => {
            device::folder(libraries).map(|folder| println!("{}", folder.display()))
        }
        Command::On(on) => on.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
