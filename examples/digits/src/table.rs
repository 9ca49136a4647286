//! The runs as one table, and what to notice in it.

use crate::record::Run;
use std::fmt::Write;

const HEAD: &str = "level      accuracy     loss   steps  skipped  scale first → last    params  masters    grads    state    activ.  seconds";

/// The table, and one line that says what to notice.
pub fn table(runs: &[Run]) -> String {
    let mut text = format!("{HEAD}\n{}\n", "─".repeat(HEAD.chars().count()));
    for run in runs {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", row(run));
    }
    text.push_str("\nBytes: params, masters, gradients, optimizer state, peak activations of one micro-batch.\n");
    text.push_str(&notice(runs));
    text
}

fn row(run: &Run) -> String {
    let scale = format!("{} → {}", power(run.scale.initial), power(run.scale.last));
    let bytes = run.bytes;
    let sizes =
        [bytes.parameters, bytes.masters, bytes.gradients, bytes.optimizer, bytes.activations_peak];
    let sizes: String = sizes.iter().map(|&b| format!("{:>9}", size(b))).collect();
    format!(
        "{:<3} {:<5} {:>9.2} % {:>8.4} {:>7} {:>8}  {:>17} {sizes} {:>8.1}",
        run.level,
        run.dtype,
        100.0 * run.accuracy,
        run.final_loss,
        run.steps.applied,
        run.steps.skipped,
        scale,
        run.seconds,
    )
}

/// A power of two as one.
fn power(scale: f32) -> String {
    let exponent = scale.log2();
    if exponent.fract() == 0.0 { format!("2^{exponent}") } else { format!("{scale}") }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn size(bytes: u64) -> String {
    match bytes {
        0 => "–".into(),
        1..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.0} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// One line that says what to notice.
fn notice(runs: &[Run]) -> String {
    let find =
        |level: &str, dtype: &str| runs.iter().find(|r| r.level == level && r.dtype == dtype);
    let diverged = runs.iter().find_map(|run| run.diverged.as_ref());
    if let Some(report) = diverged {
        return format!("Notice: {report}");
    }
    match (find("O0", "f32"), find("O2", "f16"), find("O3", "f16")) {
        (Some(full), Some(mixed), Some(low)) => format!(
            "Notice: O2 f16 holds parameters and activations in half the bytes and is {} of O0's accuracy, its masters \
             keeping the updates that f16 loses; O3 keeps none and ends {:.2} points from O0.",
            points(mixed.accuracy - full.accuracy),
            100.0 * (low.accuracy - full.accuracy),
        ),
        _ => skips(runs),
    }
}

fn points(difference: f32) -> String {
    let points = 100.0 * difference;
    if points.abs() < 0.005 {
        "exactly".into()
    } else {
        format!("within {:.2} points", points.abs())
    }
}

fn skips(runs: &[Run]) -> String {
    match runs.iter().find_map(|run| run.first_skip.as_ref()) {
        Some(report) => format!("Notice: {report}"),
        None => {
            "Notice: no step was skipped; every gradient was finite before and after unscaling."
                .into()
        }
    }
}
