//! `cargo xtask conformance --device …`: starts the binary of `binade-bench` that runs the kit.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::{
    Result, device, ptx,
    shell::{Call, root},
};

#[derive(Args)]
pub(crate) struct Conformance {
    /// The device under test.
    #[arg(long, value_enum)]
    device: Device,
    /// Writes the counts and the table as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report as a page for a browser.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Runs the cases whose full name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Device {
    /// The CPU reference.
    Cpu,
    /// The CPU run late.
    Deferred,
    /// A GPU of NVIDIA's, by its own driver.
    Cuda,
    /// The CUDA backend by the PTX interpreter in the driver's place.
    Ptx,
    /// The wgpu backend on the adapter that there is.
    Wgpu,
    /// Every device that needs no GPU, in turn.
    All,
}

impl Conformance {
    pub(crate) fn run(self) -> Result<()> {
        let mut process = call().process();
        process.arg("--device").arg(self.device.name());
        if let Some(folder) = self.device.libraries()? {
            process.env("LD_LIBRARY_PATH", folder);
            // Who asks for a device by name wants it tested, not skipped.
            process.env("BINADE_REQUIRE", device::before(Path::new("ptx"), "BINADE_REQUIRE", ','));
        }
        for (flag, file) in [("--json", self.json), ("--html", self.html)] {
            file.map(|file| process.arg(flag).arg(file));
        }
        self.only.map(|text| process.arg("--only").arg(text));
        // Started in the user's folder, not in the root: the paths are relative to it.
        let status = process.status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the conformance run ended with {status}").into())
        }
    }
}

impl Device {
    /// As the binary calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Deferred => "deferred",
            Self::Cuda => "cuda",
            Self::Ptx => "ptx",
            Self::Wgpu => "wgpu",
            Self::All => "all",
        }
    }

    /// The value that `LD_LIBRARY_PATH` needs for the device's driver to be found; nothing where it can stay as it is.
    ///
    /// For `ptx` this is the one place that builds the interpreter and puts its folder first.
    fn libraries(self) -> Result<Option<String>> {
        match self {
            Self::Cpu | Self::Deferred | Self::Cuda | Self::Wgpu | Self::All => Ok(None),
            Self::Ptx => Ok(Some(device::before(&ptx::driver()?, "LD_LIBRARY_PATH", ':'))),
        }
    }
}

/// Where CI keeps the report of the device, or the driver, of this name.
pub(crate) fn place(name: &str) -> PathBuf {
    root().join(format!("target/conformance/{name}.json"))
}

/// The report that CI kept last.
pub(crate) fn kept(name: &str) -> Result<Value> {
    let json = place(name);
    let text = fs::read_to_string(&json)
        .map_err(|error| format!("there is no report of {name} in {}: {error}", json.display()))?;
    Ok(serde_json::from_str(&text)?)
}

/// The call of the binary, whose arguments follow.
fn call() -> Call {
    Call::cargo("run --quiet --package binade-bench --bin conformance --")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_called_here_what_the_binary_calls_it() {
        for device in Device::value_variants() {
            let value = device.to_possible_value().unwrap();
            assert_eq!(value.get_name(), device.name());
        }
    }
}
