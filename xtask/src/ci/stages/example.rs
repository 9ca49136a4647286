//! The main example in release, for a few epochs, and whether what it writes can be read.

use std::fs;

use serde::Deserialize;

use crate::{
    Result,
    ci::{outcome::Outcome, stages::plain},
    shell::{Cargo, root},
};

/// The part of the example's `--json` file that is looked at.
#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    level: String,
    steps: Steps,
}

#[derive(Deserialize)]
struct Steps {
    attempted: u64,
    applied: u64,
    skipped: u64,
}

/// Two epochs: enough to train, to grow the scale and to write every field.
pub(crate) fn run() -> Result<Outcome> {
    let folder = root().join("target/ci");
    // An earlier run's report must not speak for this one.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let file = folder.join("digits.json");
    plain(&call(&["--epochs", "2", "--json", &file.to_string_lossy()]))?;
    let json = fs::read_to_string(&file)
        .map_err(|error| format!("{} was not written: {error}", file.display()))?;
    verdict(&json)
}

/// The README's first command, with flags of the example.
pub(crate) fn call(flags: &[&str]) -> Cargo {
    let call = Cargo::line("run --release --example digits");
    if flags.is_empty() { call } else { call.args(["--"]).args(flags.iter().copied()) }
}

/// Every run tried a step, and every try was applied or skipped.
fn verdict(json: &str) -> Result<Outcome> {
    let report: Report = serde_json::from_str(json)?;
    if report.runs.is_empty() {
        return Ok(Outcome::Failed("the example reports no run".into()));
    }
    let sound =
        |steps: &Steps| steps.attempted > 0 && steps.attempted == steps.applied + steps.skipped;
    if let Some(run) = report.runs.iter().find(|run| !sound(&run.steps)) {
        let Steps { attempted, applied, skipped } = run.steps;
        let level = &run.level;
        return Ok(Outcome::Failed(format!(
            "{level}: {attempted} steps attempted, {applied} applied, {skipped} skipped"
        )));
    }
    Ok(Outcome::Passed(format!("{} runs", report.runs.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(attempted: u64, applied: u64, skipped: u64) -> String {
        let steps =
            format!(r#"{{"attempted":{attempted},"applied":{applied},"skipped":{skipped}}}"#);
        format!(r#"{{"runs":[{{"level":"O1","dtype":"f16","steps":{steps}}}]}}"#)
    }

    #[test]
    fn a_run_whose_steps_add_up_passes() {
        assert_eq!(verdict(&report(10, 9, 1)).unwrap(), Outcome::Passed("1 runs".into()));
    }

    #[test]
    fn a_lost_step_fails_and_is_named() {
        assert!(
            matches!(verdict(&report(10, 8, 1)).unwrap(), Outcome::Failed(note) if note.starts_with("O1"))
        );
    }

    #[test]
    fn a_run_without_steps_and_a_report_without_runs_fail() {
        assert!(matches!(verdict(&report(0, 0, 0)).unwrap(), Outcome::Failed(_)));
        assert!(matches!(verdict(r#"{"runs":[]}"#).unwrap(), Outcome::Failed(_)));
    }

    #[test]
    fn a_file_of_another_shape_is_an_error() {
        assert!(verdict(r#"{"run":[]}"#).is_err());
    }
}
