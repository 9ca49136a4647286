//! Runner of the conformance kit on a device. It prints a table, writes files on request, and fails if a contract is broken.

use std::{error::Error, fs, path::PathBuf, process::ExitCode};

use binade_bench::Device;
use binade_conformance::{Report, Runner, report};
use clap::Parser;

/// Holds a device to every contract of the kit.
#[derive(Parser)]
#[command(name = "conformance")]
struct Cli {
    /// The device under test.
    #[arg(long, value_enum)]
    device: Device,
    /// Writes counts, table, failures and skips as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report as a page for a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Runs the cases whose full name, `operation/variant/sentence`, contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Lets cuBLASLt and cuDNN multiply f32 by TF32, and holds products of f32 to what that may lose.
    #[arg(long)]
    tf32: bool,
}

impl Cli {
    fn runner(&self) -> Runner {
        let runner = Runner::from_env();
        match &self.only {
            Some(text) => runner.only(text),
            None => runner,
        }
    }

    fn write(&self, reports: &[Report]) -> Result<(), String> {
        if let Some(path) = &self.json {
            save(path, report::json(reports) + "\n")?;
        }
        if let Some(path) = &self.html {
            save(path, report::html(reports))?;
        }
        Ok(())
    }
}

fn save(path: &PathBuf, text: String) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the kit. Returns true if every contract was kept.
fn run(cli: &Cli) -> Result<bool, Box<dyn Error>> {
    let (device, runner) = (cli.device, cli.runner());
    let report = if cli.tf32 { device.run_by_tf32(&runner) } else { device.run(&runner) }?;
    println!("{report}\n");
    let is_success = report.is_success();
    cli.write(&[report])?;
    Ok(is_success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_help_names_the_devices() {
        let help = Cli::command().render_long_help().to_string();
        assert!(["cpu", "ptx", "wgpu"].iter().all(|name| help.contains(name)), "{help}");
    }
}
