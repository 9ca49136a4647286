//! `cargo xtask conformance --device …`: starts the program that runs the kit, on one device or on every one of them in turn.

use std::{env, path::PathBuf};

use clap::{Args, ValueEnum};

use crate::{Result, device, shell::Call};

#[derive(Args)]
pub(crate) struct Conformance {
    /// The device under test.
    #[arg(long, value_enum)]
    device: Device,
    /// Writes the report of one device as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Runs the cases whose full name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Of cuda and ptx: lets cuBLASLt multiply f32 by TF32, on ptx its stand-in, and holds products of f32 to what that may lose.
    #[arg(long)]
    tf32: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Device {
    /// The CPU reference.
    Cpu,
    /// A GPU of NVIDIA's, by its own driver.
    Cuda,
    /// The CUDA backend by the PTX interpreter in the driver's place.
    Ptx,
    /// The wgpu backend on the adapter that there is.
    Wgpu,
    /// candle's tensors by its adapter, on the CPU.
    Candle,
    /// burn's tensors by its adapter, on burn's `flex`.
    Burn,
    /// Every device in turn; one that cannot be opened says why, and fails only where it is required.
    All,
}

/// The exit status of a program that could not open its device.
const NOT_OPENED: i32 = 77;

impl Conformance {
    pub(crate) fn run(self) -> Result<()> {
        if self.device != Device::All {
            let ended = self.ended(self.device)?;
            return if ended == Some(0) { Ok(()) } else { Err("a contract is broken".into()) };
        }
        if self.json.is_some() {
            return Err("--json writes the report of one device: name it".into());
        }
        let mut ended = Vec::new();
        for &device in Device::value_variants().iter().filter(|&&it| it != Device::All) {
            ended.push((device.name(), self.ended(device)?));
        }
        verdict(&ended, &env::var("BINADE_REQUIRE").unwrap_or_default())
    }

    /// Runs the kit on a device, and returns the exit status of its program.
    fn ended(&self, device: Device) -> Result<Option<i32>> {
        // Adapters have programs of their own, since nobody else should have to build their frameworks.
        let (package, program) = match device {
            Device::Candle => ("binade-example-candle", "candle_conformance"),
            Device::Burn => ("binade-example-burn", "burn_conformance"),
            _ => ("binade-bench", "conformance"),
        };
        let program = format!("--quiet --package {package} --bin {program}");
        // Apart, so that what does not compile is no device that could not be opened.
        Call::line(format!("cargo build {program}")).run()?;
        let mut call = Call::line(format!("cargo run {program} --"));
        if package == "binade-bench" {
            call = call.args(["--device", &device.name()]);
        }
        if device == Device::Ptx {
            device::folder(self.tf32)?;
            call = device::on(if self.tf32 { "ptx-libraries" } else { "ptx" }, &call)?;
        }
        let json = self.json.as_ref().map(|file| file.to_string_lossy());
        call = call.args(json.iter().flat_map(|file| ["--json", file]));
        let only = self.only.iter().flat_map(|text| ["--only", text]);
        call = call.args(only).args(self.tf32.then_some("--tf32"));
        // Started in the user's folder, not in the root: the paths are relative to it.
        Ok(call.process().status()?.code())
    }
}

impl Device {
    /// The name that the program gives it.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Names each device that broke a contract, or could not be opened and is required; an error too where none could be.
fn verdict(ended: &[(String, Option<i32>)], required: &str) -> Result<()> {
    let is_required = |name: &str| required.split(',').any(|it| it.trim() == name);
    let is_closed = |status: Option<i32>| status == Some(NOT_OPENED);
    let broken = ended
        .iter()
        .filter(|(name, status)| *status != Some(0) && (!is_closed(*status) || is_required(name)));
    let names: Vec<_> = broken.map(|(name, _)| name.as_str()).collect();
    if ended.iter().all(|(_, status)| is_closed(*status)) {
        return Err("no device could be opened".into());
    }
    if names.is_empty() { Ok(()) } else { Err(format!("broken by {}", names.join(", ")).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_contract_is_named_and_a_closed_device_is_let_pass_unless_it_is_required() {
        let ended = |a, b| [("a".to_owned(), Some(a)), ("b".to_owned(), Some(b))];
        let told = |ended: &[_], required| verdict(ended, required).map_err(|it| it.to_string());
        assert_eq!(told(&ended(0, NOT_OPENED), "c"), Ok(()));
        assert_eq!(told(&ended(0, NOT_OPENED), "a, b"), Err("broken by b".into()));
        assert_eq!(told(&ended(1, NOT_OPENED), ""), Err("broken by a".into()));
        assert!(told(&ended(NOT_OPENED, NOT_OPENED), "").is_err());
    }
}
