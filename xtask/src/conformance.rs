//! `cargo xtask conformance --device …`: starts the program that runs the kit, on one device or on every one of them, and shows the
//! reports of several side by side.

use std::{env, fs, path::PathBuf};

use clap::{Args, ValueEnum};
use serde_json::Value;

use crate::{
    Result, device,
    shell::{Call, root},
};

#[derive(Args)]
pub(crate) struct Conformance {
    /// The device under test.
    #[arg(long, value_enum)]
    device: Device,
    /// Writes the report as JSON; of several subjects, a list of them.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes the report of one device as a page for a browser.
    #[arg(long, value_name = "FILE", conflicts_with = "beside")]
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
    /// Every device, side by side; one that cannot be opened says why.
    All,
}

/// A subject's name with its report, or the reason why there is none.
type Column = (String, Result<Value, String>);

impl Conformance {
    pub(crate) fn run(self) -> Result<()> {
        if self.device == Device::All || !self.beside.is_empty() {
            return self.side_by_side();
        }
        let mut call = self.call(self.device)?;
        for (flag, file) in [("--json", &self.json), ("--html", &self.html)] {
            let file = file.as_ref().map(|file| file.to_string_lossy());
            call = call.args(file.iter().flat_map(|file| [flag, file]));
        }
        // Started in the user's folder, not in the root: the paths are relative to it.
        let status = call.process().status()?;
        if status.success() { Ok(()) } else { Err(format!("the kit ended with {status}").into()) }
    }

    /// The call of the program for this device and for the cases that are asked for.
    fn call(&self, device: Device) -> Result<Call> {
        let mut call = Call::line(device.cargo("run") + " --");
        if !matches!(device, Device::Candle | Device::Burn) {
            call = call.args(["--device", &device.name()]);
        }
        if device == Device::Ptx {
            device::folder(self.tf32)?;
            call = device::on(if self.tf32 { "ptx-libraries" } else { "ptx" }, &call)?;
        }
        let only = self.only.iter().flat_map(|text| ["--only", text]);
        Ok(call.args(only).args(self.tf32.then_some("--tf32")))
    }

    fn side_by_side(&self) -> Result<()> {
        let mut columns = Vec::new();
        for &device in Device::value_variants().iter().filter(|&&it| it != Device::All) {
            if [device, Device::All].contains(&self.device) {
                columns.extend(self.columns(device)?);
            }
        }
        for file in &self.beside {
            let read = read(&fs::read_to_string(file)?);
            columns.extend(read.map_err(|why| format!("{}: {why}", file.display()))?);
        }
        let title = "cases, worst difference as a share of what is allowed, status";
        println!("{title}\n\n{}", table(&columns));
        if let Some(file) = &self.json {
            let reports: Vec<&Value> = columns.iter().flat_map(|(_, report)| report).collect();
            fs::write(file, serde_json::to_string_pretty(&reports)?)?;
        }
        verdict(&columns, self.device != Device::All)
    }

    /// The reports of a device, or the reason why there is none.
    fn columns(&self, device: Device) -> Result<Vec<Column>> {
        // Apart, so that what does not compile is no device that could not be opened.
        Call::line(device.cargo("build")).run()?;
        let json = root().join(format!("target/conformance-{}.json", device.name()));
        // A report of an earlier run must not be read for this one's.
        fs::write(&json, "")?;
        let call = self.call(device)?.args(["--json", &json.to_string_lossy()]);
        let output = call.process().output()?;
        let text = fs::read_to_string(&json)?;
        if !text.is_empty() {
            return read(&text);
        }
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let why = told.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Ok(vec![(device.name(), Err(why.to_owned()))])
    }
}

impl Device {
    /// `cargo build` or `cargo run` of the program that tries it. Adapters have programs of their own, since nobody else should have
    /// to build their frameworks.
    fn cargo(self, command: &str) -> String {
        let (package, program) = match self {
            Self::Candle => ("binade-example-candle", "candle_conformance"),
            Self::Burn => ("binade-example-burn", "burn_conformance"),
            _ => ("binade-bench", "conformance"),
        };
        format!("cargo {command} --quiet --package {package} --bin {program}")
    }

    /// The name that the program gives it.
    fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// The subjects of a text, which holds one report or a list of them.
fn read(text: &str) -> Result<Vec<Column>> {
    let value = serde_json::from_str(text)?;
    let reports = if let Value::Array(reports) = value { reports } else { vec![value] };
    let named = |report: Value| {
        let name = report["device"].as_str().filter(|_| report["schema"] == "binade-conformance/1");
        let name = name.ok_or("it is no report that this version of the kit writes")?.to_owned();
        Ok((name, Ok(report)))
    };
    reports.into_iter().map(named).collect()
}

/// The elements of a list of a report.
fn list<'a>((_, report): &'a Column, key: &str) -> impl Iterator<Item = &'a Value> {
    report.iter().filter_map(move |report| report[key].as_array()).flatten()
}

/// Every subject side by side, as Markdown. Operations stand in the order in which subjects first have them.
fn table(columns: &[Column]) -> String {
    let mut operations: Vec<&str> = Vec::new();
    for row in columns.iter().flat_map(|it| list(it, "rows")) {
        operations.extend(row["operation"].as_str().filter(|name| !operations.contains(name)));
    }
    let row = |first: &str, cell: &dyn Fn(&Column) -> String| {
        let cells: Vec<_> = columns.iter().map(|column| cell(column).replace('|', "\\|")).collect();
        format!("| {first} | {} |\n", cells.join(" | "))
    };
    let head = row("operation", &|(name, _)| name.clone()) + &row("---", &|_| "---".into());
    operations.iter().fold(head, |all, name| all + &row(name, &|column| cell(column, name)))
}

/// `7, 0.50, ok, 1 known, 2 skipped`: the cases of an operation over all element types, the worst difference, and how it ended.
fn cell(column: &Column, operation: &str) -> String {
    let rows: Vec<_> = list(column, "rows").filter(|row| row["operation"] == operation).collect();
    if rows.is_empty() {
        return "-".to_owned();
    }
    let sum = |key: &str| rows.iter().filter_map(|row| row[key].as_u64()).sum::<u64>();
    let worst = rows.iter().filter_map(|row| row["worst"].as_f64()).fold(0.0, f64::max);
    let status = ["passed", "failed", "known", "skipped"].map(|key| match (sum(key), key) {
        (0, _) => String::new(),
        (_, "passed") => ", ok".to_owned(),
        (count, "failed") => format!(", {count} FAILED"),
        (count, key) => format!(", {count} {key}"),
    });
    format!("{}, {worst:.2}{}", sum("cases"), status.concat())
}

/// Names each case that failed, or that a list names and no case is. A device that cannot be opened is no failure unless it is
/// required, or was asked for by name.
fn verdict(columns: &[Column], is_named: bool) -> Result<()> {
    let required = env::var("BINADE_REQUIRE").unwrap_or_default();
    let mut broken = Vec::new();
    for column @ (name, report) in columns {
        let failures = list(column, "failures").map(|it| &it["case"]);
        let failures = failures.chain(list(column, "misnamed").map(|it| &it["name"]));
        let named = failures.inspect(|case| println!("FAILED {name} {case}")).count();
        let is_bad = match report {
            Ok(report) => report["failed"] != 0 || report["passed"] == 0 || named > 0,
            Err(why) => {
                println!("{name} was not opened: {why}");
                is_named || required.split(',').any(|it| it.trim() == name)
            }
        };
        broken.extend(is_bad.then_some(name.as_str()));
    }
    if columns.iter().all(|(_, report)| report.is_err()) {
        return Err("no device could be opened".into());
    }
    let advice = "a case failed, or none passed; `--device NAME` shows the report";
    let names = broken.join(", ");
    if names.is_empty() { Ok(()) } else { Err(format!("{names}: {advice}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn subjects_stand_side_by_side_and_element_types_are_joined() {
        let row = |operation, cases, passed, failed, worst| json!({ "operation": operation, "cases": cases, "passed": passed, "failed": failed, "worst": worst });
        let a = json!({ "rows": [row("cast", 3, 3, 0, 0.0), row("cast", 4, 2, 2, 0.5)] });
        let b = json!({ "rows": [row("norm", 9, 9, 0, 0.0)] });
        let wanted = "| operation | a | b\\|c |\n| --- | --- | --- |\n| cast | 7, 0.50, ok, 2 FAILED | - |\n| norm | - | 9, 0.00, ok |\n";
        assert_eq!(table(&[("a".into(), Ok(a)), ("b|c".into(), Ok(b))]), wanted);
        assert!(read("{}").is_err_and(|why| why.to_string().contains("no report")));
    }

    #[test]
    fn a_failure_a_misnamed_case_and_a_run_of_nothing_are_named_and_a_closed_device_is_let_pass() {
        let closed = || ("b".to_owned(), Err("it is not there".to_owned()));
        let opened = |failed, passed, misnamed| {
            let report = json!({ "failed": failed, "passed": passed, "misnamed": misnamed });
            ("a".to_owned(), Ok(report))
        };
        assert!(verdict(&[opened(0, 3, json!([])), closed()], false).is_ok());
        for (failed, passed, misnamed) in
            [(1, 3, json!([])), (0, 0, json!([])), (0, 3, json!([{ "name": "cats/" }]))]
        {
            let columns = [opened(failed, passed, misnamed), closed()];
            let error = verdict(&columns, false).unwrap_err().to_string();
            assert!(error.starts_with("a: "), "{error}");
        }
        assert!(verdict(&[closed(), opened(0, 3, json!([]))], true).is_err(), "it was asked for");
        assert!(verdict(&[closed(), closed()], false).is_err());
    }
}
