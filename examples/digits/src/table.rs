//! Table of the runs, with remarks.

use crate::notice;
use crate::record::Run;
use binade_example_shared::program::table::{scales, table as aligned, wrap};

const HEADS: [&str; 12] = [
    "level", "accuracy", "loss", "applied", "skipped", "scale", "params", "masters", "grads",
    "optim", "activ", "seconds",
];

const LEGEND: &str = "\
accuracy: of the test images; loss: mean of the last epoch; scale: before the first step → after the last; then bytes
of parameters, masters, gradients, optimizer state, and peak activations of one micro-batch.";

/// Returns the table, its data, its columns' meaning, and remarks; no line is longer than 120 columns.
pub fn table(runs: &[Run]) -> String {
    let rows: Vec<_> =
        [HEADS.map(String::from)].into_iter().chain(runs.iter().map(cells)).collect();
    format!("{}\n\n{}{LEGEND}\n\n{}", aligned(&rows), data(runs), notice::notice(runs))
}

/// Returns the source of the images, the same for all runs of a session.
fn data(runs: &[Run]) -> String {
    let told = |run: &Run| wrap(&format!("data: {}.", run.data)) + "\n";
    runs.first().map(told).unwrap_or_default()
}

fn cells(run: &Run) -> [String; 12] {
    let bytes = run.bytes;
    [
        format!("{} {}", run.level, run.dtype),
        format!("{:.2} %", 100.0 * run.accuracy()),
        format!("{:.4}", run.final_loss()),
        run.outcomes.steps.applied.to_string(),
        run.outcomes.steps.skipped.to_string(),
        scales(&run.outcomes.scales),
        size(bytes.parameters),
        size(bytes.masters),
        size(bytes.gradients),
        size(bytes.optimizer),
        size(run.activations_peak),
        format!("{:.1}", run.seconds),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn size(bytes: u64) -> String {
    match bytes {
        0 => "–".into(),
        1..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcomes, Steps};

    #[test]
    fn columns_are_aligned_and_fit_a_hundred_and_twenty() {
        let run = |level: &str, dtype: &str| Run {
            level: level.into(),
            dtype: dtype.into(),
            losses: vec![12.5],
            outcomes: Outcomes {
                steps: Steps { attempted: 100_000, applied: 99_990, skipped: 10 },
                scales: vec![65536.0, 16_777_216.0],
                ..Outcomes::default()
            },
            activations_peak: 123_456_789,
            seconds: 1234.56,
            ..Run::default()
        };
        let text = table(&[run("O0", "f32"), run("O1", "bf16")]);
        let lines: Vec<_> = text.lines().map(|line| line.chars().count()).collect();
        assert!(lines.iter().all(|&width| width <= 120), "{text}");
        assert!(lines[..4].iter().all(|&width| width == lines[0]), "{text}");
    }

    #[test]
    fn sizes_have_units_and_nothing_is_a_dash() {
        assert_eq!([0, 9_999, 10_000, 123_456_789].map(size), ["–", "9999 B", "10 kB", "123.5 MB"]);
    }
}
