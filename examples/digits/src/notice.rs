//! Remarks on the table: sentences made of its figures alone.

use crate::record::{Run, share};
use binade_example_shared::program::table::wrap;

/// Difference in accuracy within which a level keeps up: one point.
const POINT: f32 = 0.01;

/// Returns the remarks, wrapped; then a paragraph each for every run's first skip and divergence.
pub(crate) fn notice(runs: &[Run]) -> String {
    let clauses = [accuracy(runs), bytes(runs), unprotected(runs), Some(skips(runs))];
    let clauses: Vec<_> = clauses.into_iter().flatten().collect();
    let first = format!("Notice: {}.", clauses.join("; "));
    let paragraphs = std::iter::once(first).chain(runs.iter().flat_map(events));
    paragraphs.map(|text| wrap(&text)).collect::<Vec<_>>().join("\n")
}

/// Compares the levels that mean to keep O0's accuracy by the largest difference from it.
fn accuracy(runs: &[Run]) -> Option<String> {
    let full = find(runs, "O0", "f32")?;
    let mixed = runs.iter().filter(|run| matches!(&*run.level, "O1" | "O2"));
    let differences = mixed.map(|run| run.right.abs_diff(full.right));
    let most = differences.max()?;
    let (levels, tested) = (levels(runs), full.data.test);
    Some(match most {
        0 => format!("{levels} get as many test images right as O0"),
        _ => format!(
            "{levels} are within {:.2} points of O0 ({most} of {tested} test images)",
            100.0 * share(most, tested),
        ),
    })
}

/// Returns the names of the mixed levels that ran.
fn levels(runs: &[Run]) -> String {
    let ran = ["O1", "O2"].into_iter().filter(|level| runs.iter().any(|run| run.level == *level));
    ran.collect::<Vec<_>>().join(" and ")
}

/// Compares the bytes of O2, its masters counted, with those of O0.
fn bytes(runs: &[Run]) -> Option<String> {
    let full = total(find(runs, "O0", "f32")?);
    let half = total(find(runs, "O2", "f16")?);
    Some(format!("O2 f16 trains in {} of O0's bytes", percent(half, full)))
}

fn total(run: &Run) -> u64 {
    run.bytes.total() + run.activations_peak
}

#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
fn percent(part: u64, whole: u64) -> String {
    format!("{:.0} %", 100.0 * part as f64 / whole as f64)
}

/// Tells the end of O3, which gives up masters and the loss scale.
fn unprotected(runs: &[Run]) -> Option<String> {
    let full = find(runs, "O0", "f32")?;
    let low = find(runs, "O3", "f16").filter(|run| run.outcomes.diverged.is_none())?;
    let behind = full.accuracy() - low.accuracy();
    Some(if behind <= POINT {
        "O3 f16, with no masters and no loss scale, keeps up on this small problem".into()
    } else {
        format!(
            "O3 f16, with no masters and no loss scale, ends {:.2} points below O0",
            100.0 * behind
        )
    })
}

fn skips(runs: &[Run]) -> String {
    let skipped: u64 = runs.iter().map(|run| run.outcomes.steps.skipped).sum();
    match skipped {
        0 => "no step was skipped, since no gradient was infinite or NaN".into(),
        1 => "one step was skipped, and changed nothing".into(),
        _ => format!("{skipped} steps were skipped, and changed nothing"),
    }
}

/// Returns a run's first skip in words, its divergence, and the weights that its ranks ended with.
fn events(run: &Run) -> impl Iterator<Item = String> {
    let Run { level, dtype, .. } = run;
    let skip =
        run.outcomes.first_skip.iter().map(move |report| format!("{level} {dtype}: {report}."));
    let end = run.outcomes.diverged.iter();
    let end = end.map(move |report| format!("{level} {dtype} diverged: {report}."));
    let weights = run.weights.iter();
    let weights = weights.map(move |hash| {
        format!("{level} {dtype}: every rank ended with weights of the hash {hash:016x}.")
    });
    skip.chain(end).chain(weights)
}

fn find<'r>(runs: &'r [Run], level: &str, dtype: &str) -> Option<&'r Run> {
    runs.iter().find(|run| run.level == level && run.dtype == dtype)
}

#[cfg(test)]
mod tests;
