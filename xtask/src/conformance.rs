//! `cargo xtask conformance --device …`: starts the binary of `binade-bench` that runs the kit, on one device or on every one of
//! them, and shows what came of several side by side.

mod column;
mod table;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::{
    Result, device, ptx,
    shell::{Call, root},
};

use column::Column;

#[derive(Args)]
pub(crate) struct Conformance {
    /// The device under test.
    #[arg(long, value_enum)]
    device: Device,
    /// Writes the report as JSON; of several subjects, a list of them.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report as a page for a browser; of several subjects, the table.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Runs the cases whose full name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Of cuda and ptx: lets cuBLASLt multiply f32 by TF32, on ptx its stand-in, and holds products of f32 to what that may lose.
    #[arg(long)]
    tf32: bool,
    /// Puts the subjects of this report, JSON of the kit's from any program, beside the device. May be repeated.
    #[arg(long, value_name = "FILE")]
    beside: Vec<PathBuf>,
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
    /// candle's tensors by its adapter, on the CPU.
    Candle,
    /// burn's tensors by its adapter, on burn's `flex`.
    Burn,
    /// Every device, side by side; a column says of one that cannot be opened why.
    All,
}

impl Conformance {
    pub(crate) fn run(self) -> Result<()> {
        if self.device == Device::All || !self.beside.is_empty() {
            return self.side_by_side();
        }
        let mut process = self.process(self.device)?;
        for (flag, file) in [("--json", self.json), ("--html", self.html)] {
            file.map(|file| process.arg(flag).arg(file));
        }
        // Started in the user's folder, not in the root: the paths are relative to it.
        let status = process.status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the conformance run ended with {status}").into())
        }
    }

    /// The binary, asked for this device and for the cases that are.
    fn process(&self, device: Device) -> Result<Command> {
        let mut process = device.program().process();
        if let Some(folder) = device.libraries(self.tf32)? {
            process.env("LD_LIBRARY_PATH", folder);
            // Who asks for a device by name wants it tested, not skipped.
            process.env("BINADE_REQUIRE", device::before(Path::new("ptx"), "BINADE_REQUIRE", ','));
        }
        self.only.as_ref().map(|text| process.arg("--only").arg(text));
        self.tf32.then(|| process.arg("--tf32"));
        Ok(process)
    }

    fn side_by_side(&self) -> Result<()> {
        let mut beside = Vec::new();
        for file in &self.beside {
            beside.extend(Column::of_file(file)?);
        }
        let mut columns = Vec::new();
        for device in self.device.each() {
            // Apart, so that what does not compile is no device that could not be opened.
            device.cargo("build").run()?;
            columns.extend(self.columns(device)?);
        }
        columns.extend(beside);
        println!("cases, worst difference as a share of what is allowed, status\n");
        print!("{}", table::markdown(&columns));
        if let Some(file) = &self.json {
            let reports: Vec<&Value> = columns.iter().flat_map(|column| &column.report).collect();
            fs::write(file, serde_json::to_string_pretty(&reports)?)?;
        }
        if let Some(file) = &self.html {
            fs::write(file, table::html(&columns))?;
        }
        verdict(&columns, self.device != Device::All)
    }

    /// What a device came to: its report, or why there is none.
    fn columns(&self, device: Device) -> Result<Vec<Column>> {
        let json = root().join(format!("target/conformance/beside/{}.json", device.name()));
        fs::create_dir_all(json.parent().ok_or("a file without a folder")?)?;
        // A report of an earlier run must not be read for this one's.
        if json.exists() {
            fs::remove_file(&json)?;
        }
        eprintln!("{} …", device.name());
        let mut process = match self.process(device) {
            Ok(process) => process,
            Err(why) => return Ok(vec![Column::closed(device.name(), why.to_string())]),
        };
        let output = process.arg("--json").arg(&json).output()?;
        if json.exists() {
            return Column::of_file(&json);
        }
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = told.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        let why = why.strip_prefix("error: ").unwrap_or(why);
        Ok(vec![Column::closed(device.name(), why.to_owned())])
    }
}

/// Names each case that failed. A device that cannot be opened is no failure unless it is required, or was asked for by name.
fn verdict(columns: &[Column], is_named: bool) -> Result<()> {
    let required = env::var("BINADE_REQUIRE").unwrap_or_default();
    let is_required = |name: &str| required.split(',').any(|it| it.trim() == name);
    let mut broken = Vec::new();
    for column in columns {
        if let Err(why) = &column.report {
            println!("{} was not opened: {why}", column.name);
        }
        for case in column.failures() {
            println!("FAILED {} {case}", column.name);
        }
        let counts = column.report.is_ok() || is_named || is_required(&column.name);
        if counts && !column.is_success() {
            broken.push(column.name.as_str());
        }
    }
    if columns.iter().all(|column| column.report.is_err()) {
        return Err("no device could be opened".into());
    }
    if broken.is_empty() {
        return Ok(());
    }
    let names = broken.join(", ");
    Err(format!("{names}: a case failed, or none passed; `--device NAME` shows the report").into())
}

impl Device {
    /// The devices that are meant.
    fn each(self) -> Vec<Self> {
        match self {
            Self::All => vec![
                Self::Cpu,
                Self::Deferred,
                Self::Cuda,
                Self::Ptx,
                Self::Wgpu,
                Self::Candle,
                Self::Burn,
            ],
            one => vec![one],
        }
    }

    /// The call of the program that tries it, whose arguments follow. Adapters have programs of their own, since nobody else should
    /// have to build their frameworks.
    fn program(self) -> Call {
        match self {
            Self::Candle | Self::Burn => self.cargo("run").args(["--"]),
            _ => self.cargo("run").args(["--", "--device", self.name()]),
        }
    }

    /// `cargo build` or `cargo run` of that program.
    fn cargo(self, command: &str) -> Call {
        let (package, program) = match self {
            Self::Candle => ("binade-example-candle", "candle_conformance"),
            Self::Burn => ("binade-example-burn", "burn_conformance"),
            _ => ("binade-bench", "conformance"),
        };
        Call::cargo(command).args(["--quiet", "--package", package, "--bin", program])
    }

    /// As the binary calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Deferred => "deferred",
            Self::Cuda => "cuda",
            Self::Ptx => "ptx",
            Self::Wgpu => "wgpu",
            Self::Candle => "candle",
            Self::Burn => "burn",
            Self::All => "all",
        }
    }

    /// The value that `LD_LIBRARY_PATH` needs for the device's driver to be found; nothing where it can stay as it is.
    ///
    /// For `ptx` this is the one place that builds the interpreter and puts its folder first.
    fn libraries(self, by_tf32: bool) -> Result<Option<String>> {
        match self {
            Self::Ptx => Ok(Some(device::before(&ptx::folder(by_tf32)?, "LD_LIBRARY_PATH", ':'))),
            _ => Ok(None),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_device_is_called_here_what_the_binary_calls_it() {
        for device in Device::value_variants() {
            let value = device.to_possible_value().unwrap();
            assert_eq!(value.get_name(), device.name());
        }
    }

    #[test]
    fn all_is_each_of_the_others() {
        let others = Device::value_variants().iter().copied().filter(|it| *it != Device::All);
        assert_eq!(Device::All.each(), others.collect::<Vec<_>>());
    }

    fn column(failed: u64, passed: u64) -> Column {
        let failures = if failed > 0 { json!([{ "case": "cast/f16/x" }]) } else { json!([]) };
        let report = json!({ "failed": failed, "passed": passed, "failures": failures });
        Column { name: "a".into(), report: Ok(report) }
    }

    #[test]
    fn a_failure_and_a_run_in_which_nothing_passed_are_named_and_a_closed_device_is_let_pass() {
        let closed = || Column::closed("no such device", "it is not there".into());
        assert!(verdict(&[column(0, 3), closed()], false).is_ok());
        for bad in [column(1, 3), column(0, 0)] {
            let error = verdict(&[bad, closed()], false).unwrap_err().to_string();
            assert!(error.starts_with("a: "), "{error}");
        }
    }

    #[test]
    fn a_list_that_names_no_case_is_a_failure_though_every_case_passed() {
        let mut column = column(0, 3);
        column.report.as_mut().unwrap()["misnamed"] = json!([{ "name": "cats/", "reason": "" }]);
        assert_eq!(column.failures(), ["cats/"]);
        assert!(verdict(&[column], false).is_err());
    }

    #[test]
    fn a_device_that_was_asked_for_and_is_closed_is_a_failure_and_so_are_none_but_closed_ones() {
        let closed = || Column::closed("no such device", "it is not there".into());
        assert!(verdict(&[closed(), column(0, 3)], true).is_err());
        assert!(verdict(&[closed(), closed()], false).is_err());
    }

    #[test]
    fn a_file_that_is_no_report_of_the_kit_is_refused_by_name() {
        let manifest = root().join("Cargo.toml");
        let error = Column::of_file(&manifest).err().unwrap().to_string();
        assert!(error.contains("Cargo.toml is no JSON"), "{error}");
        assert!(Column::of_file(Path::new("no/such/file.json")).is_err());
    }
}
