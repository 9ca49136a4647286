//! What the example's report must say of every level.

use serde::Deserialize;

use crate::{Result, ci::outcome::Outcome};

/// Every level and low type, in the order of the example's table.
const SETTINGS: [&str; 6] = ["O0 f32", "O1 f16", "O1 bf16", "O2 f16", "O2 bf16", "O3 f16"];

/// The share of test images that every level but O3 must get right. O3 has neither masters nor a loss scale.
const LEARNT: f64 = 0.97;

/// How far a mixed level may be from O0: one point.
const POINT: f64 = 0.01;

/// The part of the `--json` file that is looked at. JSON has no NaN: the example writes null for one.
#[derive(Deserialize)]
struct Report {
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    level: String,
    dtype: String,
    accuracy: Option<f64>,
    final_loss: Option<f64>,
    losses: Vec<Option<f64>>,
    steps: Steps,
}

#[derive(Deserialize)]
struct Steps {
    attempted: u64,
    applied: u64,
    skipped: u64,
}

/// Everything that is wrong with the report, in one failure.
pub(super) fn verdict(json: &str) -> Result<Outcome> {
    let Report { runs } = serde_json::from_str(json)?;
    let names: Vec<_> = runs.iter().map(name).collect();
    if names != SETTINGS {
        return Ok(Outcome::Failed(format!("the runs are [{}]", names.join(", "))));
    }
    let full = runs[0].accuracy;
    let faults = runs.iter().flat_map(|run| {
        [steps(run), losses(run), accuracy(run), distance(run, full)].into_iter().flatten()
    });
    let faults: Vec<_> = faults.collect();
    Ok(if faults.is_empty() {
        Outcome::Passed(format!("{} runs", runs.len()))
    } else {
        Outcome::Failed(faults.join("; "))
    })
}

fn name(run: &Run) -> String {
    format!("{} {}", run.level, run.dtype)
}

/// A step was tried, and every try was applied or skipped.
fn steps(run: &Run) -> Option<String> {
    let Steps { attempted, applied, skipped } = run.steps;
    let sound = attempted > 0 && applied.checked_add(skipped) == Some(attempted);
    let told = || {
        format!("{}: {attempted} steps attempted, {applied} applied, {skipped} skipped", name(run))
    };
    (!sound).then(told)
}

fn losses(run: &Run) -> Option<String> {
    let finite = |loss: &Option<f64>| loss.is_some_and(f64::is_finite);
    let sound = !run.losses.is_empty() && run.losses.iter().all(finite) && finite(&run.final_loss);
    (!sound).then(|| format!("{}: losses are {:?}", name(run), run.losses))
}

fn accuracy(run: &Run) -> Option<String> {
    let learnt = |accuracy| (LEARNT..=1.0).contains(&accuracy);
    let sound = run.level == "O3" || run.accuracy.is_some_and(learnt);
    (!sound).then(|| format!("{}: accuracy is {:?}, not {LEARNT} or more", name(run), run.accuracy))
}

fn distance(run: &Run, full: Option<f64>) -> Option<String> {
    let mixed = matches!(&*run.level, "O1" | "O2");
    let near = run.accuracy.zip(full).is_some_and(|(a, b)| (a - b).abs() <= POINT);
    (mixed && !near)
        .then(|| format!("{}: accuracy is {:?}, O0's is {full:?}", name(run), run.accuracy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A report that passes.
    fn good() -> Value {
        let run = |name: &str| {
            let (level, dtype) = name.split_once(' ').unwrap();
            let steps = json!({"attempted": 10, "applied": 9, "skipped": 1});
            json!({
                "level": level, "dtype": dtype, "accuracy": 0.98, "final_loss": 0.5, "losses": [2.0, 0.5],
                "steps": steps,
            })
        };
        json!({"runs": SETTINGS.map(run)})
    }

    /// What is said of a good report with `value` at `path` of one run.
    fn with(run: usize, path: &str, value: Value) -> Outcome {
        let mut report = good();
        *report["runs"][run].pointer_mut(path).unwrap() = value;
        verdict(&report.to_string()).unwrap()
    }

    fn fails(outcome: &Outcome, start: &str) {
        assert!(matches!(outcome, Outcome::Failed(note) if note.starts_with(start)), "{outcome}");
    }

    #[test]
    fn a_report_without_a_fault_passes() {
        assert_eq!(verdict(&good().to_string()).unwrap(), Outcome::Passed("6 runs".into()));
    }

    #[test]
    fn a_run_that_is_missing_or_another_fails() {
        fails(&verdict(r#"{"runs":[]}"#).unwrap(), "the runs are []");
        let mut five = good();
        five["runs"].as_array_mut().unwrap().pop();
        fails(&verdict(&five.to_string()).unwrap(), "the runs are [O0 f32, ");
        fails(&with(2, "/dtype", json!("f16")), "the runs are [O0 f32, O1 f16, O1 f16, ");
    }

    #[test]
    fn steps_that_are_lost_or_none_fail_and_are_named() {
        fails(&with(1, "/steps/applied", json!(8)), "O1 f16: 10 steps attempted, 8 applied");
        fails(&with(5, "/steps/skipped", json!(u64::MAX)), "O3 f16: 10 steps attempted");
        let none = json!({"attempted": 0, "applied": 0, "skipped": 0});
        fails(&with(0, "/steps", none), "O0 f32: 0 steps attempted");
    }

    #[test]
    fn a_loss_that_is_no_number_fails_at_every_level() {
        for (place, run) in SETTINGS.iter().enumerate() {
            let start = format!("{run}: losses are ");
            fails(&with(place, "/losses/0", Value::Null), &start);
            fails(&with(place, "/final_loss", Value::Null), &start);
            fails(&with(place, "/losses", json!([])), &start);
        }
    }

    #[test]
    fn every_level_but_o3_must_learn() {
        for (place, run) in SETTINGS.iter().enumerate().take(5) {
            for accuracy in [json!(0.9699), json!(1.5), json!(-0.98), Value::Null] {
                fails(&with(place, "/accuracy", accuracy), &format!("{run}: accuracy is "));
            }
        }
        for accuracy in [json!(0.1), Value::Null] {
            assert_eq!(with(5, "/accuracy", accuracy), Outcome::Passed("6 runs".into()));
        }
    }

    #[test]
    fn a_mixed_level_must_be_within_a_point_of_o0_on_either_side() {
        for (place, run) in SETTINGS.iter().enumerate().take(5).skip(1) {
            for accuracy in [0.9899, 0.9701] {
                let near = with(place, "/accuracy", json!(accuracy));
                assert_eq!(near, Outcome::Passed("6 runs".into()), "{accuracy}");
            }
            let start = format!("{run}: accuracy is Some(0.991), O0's is Some(0.98)");
            fails(&with(place, "/accuracy", json!(0.991)), &start);
        }
        fails(&with(0, "/accuracy", json!(0.995)), "O1 f16: accuracy is Some(0.98), O0's is ");
    }

    #[test]
    fn a_file_of_another_shape_is_an_error() {
        for json in [r#"{"run":[]}"#, &good().to_string().replacen("0.98", "NaN", 1), ""] {
            assert!(verdict(json).is_err(), "{json}");
        }
    }
}
