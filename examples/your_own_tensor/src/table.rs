//! One line a run.

use std::fmt::Write;

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Which.
    pub what: String,
    /// The mean loss of the last epoch.
    pub loss: f32,
    /// The share of test images that were told right.
    pub accuracy: f32,
    /// Steps that were skipped; nothing where none can be.
    pub skipped: Option<u64>,
    /// The scale at the end.
    pub scale: Option<f32>,
}

/// The runs under each other.
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
