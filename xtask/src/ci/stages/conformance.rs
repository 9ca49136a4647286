//! The kit on the CUDA backend. The CPU and the late device run it in their own tests.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{Result, ci::outcome::Outcome, conformance::Conformance, ptx, shell::root};

/// Where the counts are written.
const JSON: &str = "target/ci/conformance.json";

pub(super) fn run() -> Result<Outcome> {
    if let Some(skip) = ptx::lacking() {
        return Ok(skip);
    }
    let json = root().join(JSON);
    if let Some(folder) = json.parent() {
        fs::create_dir_all(folder)?;
    }
    // A report of an earlier run must not be read for this one's.
    if json.exists() {
        fs::remove_file(&json)?;
    }
    Conformance::on_ptx(json.clone()).run()?;
    verdict(&read(&json)?)
}

fn read(json: &Path) -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(json)?)?)
}

/// Skips are those that are excused: any other has failed the run.
fn verdict(report: &Value) -> Result<Outcome> {
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
