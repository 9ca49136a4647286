//! The kit on the CUDA backend. The CPU and the late device run it in their own tests, wgpu in a stage of its own.

use std::fs;

use serde_json::Value;

use crate::{
    Result,
    binaries::{Binaries, Kind},
    ci::outcome::Outcome,
    conformance, device, ptx,
    shell::Call,
};

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let binaries = Binaries::built()?;
    let driver = ptx::driver(binaries.interpreter()?)?;
    verdict(&report("ptx", device::with(&driver, call(&binaries, "ptx")?))?)
}

/// The kit on the device that the binary knows by this name.
pub(super) fn call(binaries: &Binaries, device: &str) -> Result<Call> {
    let call = binaries.call("binade-bench", Kind::Program, "conformance")?;
    Ok(call.args(["--device", device]).var("BINADE_REQUIRE", device))
}

/// Runs the kit, shows its table behind `name`, and reads the same from the file that it left.
pub(super) fn report(name: &str, call: Call) -> Result<Value> {
    let json = conformance::place(name);
    if let Some(folder) = json.parent() {
        fs::create_dir_all(folder)?;
    }
    // A report of an earlier run must not be read for this one's.
    if json.exists() {
        fs::remove_file(&json)?;
    }
    let is_kept = call.args(["--json", &json.to_string_lossy()]).aloud(name, |_| ())?;
    if is_kept {
        conformance::kept(name)
    } else {
        Err(format!("{name} breaks contracts of the kit").into())
    }
}

/// Skips are those that are excused: any other has failed the run.
pub(super) fn verdict(report: &Value) -> Result<Outcome> {
    let passed = report["passed"].as_u64().ok_or("the report does not say how many passed")?;
    let skipped = report["skipped"].as_array().ok_or("the report does not list skips")?.len();
    let told = format!("{passed} passed, {skipped} excused");
    Ok(if passed == 0 { Outcome::Failed(told) } else { Outcome::Passed(told) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_report_in_which_nothing_passed_fails() {
        let report = |passed: u64| json!({ "passed": passed, "skipped": [{ "case": "sum/f32" }] });
        assert_eq!(verdict(&report(3)).unwrap(), Outcome::Passed("3 passed, 1 excused".into()));
        assert!(matches!(verdict(&report(0)).unwrap(), Outcome::Failed(_)));
        assert!(verdict(&json!({})).is_err());
    }
}
