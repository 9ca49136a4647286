//! Rows for people.

use super::row::Row;
use std::fmt;

/// A line for each row, the widths those of the widest.
pub(super) fn write(f: &mut fmt::Formatter<'_>, rows: &[Row]) -> fmt::Result {
    let heads = [
        "group",
        "what",
        "dtype",
        "elements",
        "tensors",
        "bytes",
        "moved",
        "alone us",
        "least us",
        "queued us",
        "GB/s",
        "ceiling",
        "x empty",
        "launches",
        "syncs",
        "uploads",
    ];
    let lines: Vec<Vec<String>> =
        std::iter::once(heads.map(String::from).to_vec()).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0..3 => write!(f, "{cell:<width$}  ")?,
                _ => write!(f, "{cell:>width$}  ")?,
            }
        }
        writeln!(f)?;
    }
    writeln!(f)
}

fn cells(row: &Row) -> Vec<String> {
    let what = &row.what;
    let us = |seconds: f64| format!("{:.1}", 1e6 * seconds);
    let has_bytes = what.bytes > 0;
    vec![
        what.group.to_owned(),
        what.name.clone(),
        what.dtype.clone(),
        what.elements.to_string(),
        what.tensors.to_string(),
        what.bytes.to_string(),
        what.bytes_moved.to_string(),
        us(row.alone.median_s),
        us(row.alone.min_s),
        us(row.queued.median_s),
        if has_bytes { format!("{:.0}", row.queued.gbs) } else { String::new() },
        row.share_of_ceiling.map_or(String::new(), |share| format!("{:.1} %", 100.0 * share)),
        row.empty_launches.map_or(String::new(), |launches| format!("{launches:.1}")),
        row.launches.to_string(),
        row.host_syncs.to_string(),
        row.table_uploads.to_string(),
    ]
}
