//! Table of the runs, a line each.

use std::fmt::Write;

/// Row of the table: one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the run.
    pub what: String,
    /// Mean loss of the last epoch.
    pub loss: f32,
    /// Share of test images classified right.
    pub accuracy: f32,
    /// Number of skipped steps; `None` if no step can be skipped.
    pub skipped: Option<u64>,
    /// Scale at the end.
    pub scale: Option<f32>,
}

/// Returns the runs as a table.
pub fn table(rows: &[Row]) -> String {
    let mut table =
        format!("{:<20} {:>8} {:>9} {:>8} {:>7}\n", "", "loss", "accuracy", "skipped", "scale");
    for Row { what, loss, accuracy, skipped, scale } in rows {
        let skipped = skipped.map_or_else(|| "-".into(), |count| count.to_string());
        let scale = scale.map_or_else(|| "-".into(), |scale| scale.to_string());
        let accuracy = 100.0 * accuracy;
        // Writing to a string cannot fail.
        let _ = writeln!(table, "{what:<20} {loss:>8.4} {accuracy:>7.1} % {skipped:>8} {scale:>7}");
    }
    table
}
