//! Rows as a table for people.

use super::row::Row;

/// Text of a row in a column.
type Cell = fn(&Row) -> String;

/// Columns: a head and the row's cell. The first three are words, which stand to the left.
const COLUMNS: [(&str, Cell); 16] = [
    ("group", |row| row.what.group.to_owned()),
    ("what", |row| row.what.name.clone()),
    ("dtype", |row| row.what.dtype.clone()),
    ("elements", |row| row.what.elements.to_string()),
    ("tensors", |row| row.what.tensors.to_string()),
    ("alone us", |row| us(row.alone.median_s)),
    ("queued us", |row| us(row.queued.median_s)),
    ("host us", |row| us(row.host_s)),
    ("GB/s", |row| figure(row.what.bytes > 0, row.queued.gbs)),
    ("TFLOP/s", |row| figure(row.what.flops > 0, row.queued.tflops)),
    ("samples/s", |row| figure(row.what.samples > 0, row.queued.samples_per_s)),
    ("ceiling %", |row| {
        row.share_of_ceiling.map_or_else(String::new, |it| figure(true, 100.0 * it))
    }),
    ("x empty", |row| row.empty_launches.map_or_else(String::new, |it| figure(true, it))),
    ("peak MiB", |row| row.peak_bytes.div_ceil(1 << 20).to_string()),
    ("launches", |row| row.launches.to_string()),
    ("syncs", |row| row.host_syncs.to_string()),
];

/// Returns heads and a line for each row, as wide as the widest cells.
pub(super) fn table(rows: &[Row]) -> String {
    let heads = COLUMNS.map(|(head, _)| head.to_owned());
    let cells = rows.iter().map(|row| COLUMNS.map(|(_, cell)| cell(row)));
    let lines: Vec<_> = std::iter::once(heads).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let line = |line: &[String; 16]| {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            if column < 3 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ") + "\n"
    };
    lines.iter().map(line).collect()
}

fn us(seconds: f64) -> String {
    figure(true, 1e6 * seconds)
}

fn figure(is_told: bool, value: f64) -> String {
    if is_told { format!("{value:.1}") } else { String::new() }
}
