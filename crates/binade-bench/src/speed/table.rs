//! Tables of rows, printed for people.

use super::row::Row;
use std::fmt;

/// Number of columns with words; all others are numbers.
const WORDS: usize = 3;

/// Writes two tables, of rows that move and of rows that compute.
pub(super) fn write(f: &mut fmt::Formatter<'_>, rows: &[Row]) -> fmt::Result {
    let computes = |row: &&Row| row.what.computed.flops > 0;
    let moving = rows.iter().filter(|row| !computes(row)).map(moved);
    lines(f, &MOVED, moving)?;
    lines(f, &COMPUTED, rows.iter().filter(computes).map(computed))
}

/// Writes the heads and a line for each row, as wide as the widest cells; nothing if there is no row.
fn lines(
    f: &mut fmt::Formatter<'_>,
    heads: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> fmt::Result {
    let mut lines: Vec<Vec<String>> = rows.collect();
    if lines.is_empty() {
        return Ok(());
    }
    lines.insert(0, heads.iter().map(ToString::to_string).collect());
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(String::len).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    for line in &lines {
        for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
            match column {
                0..WORDS => write!(f, "{cell:<width$}  ")?,
                _ => write!(f, "{cell:>width$}  ")?,
            }
        }
        writeln!(f)?;
    }
    writeln!(f)
}

const MOVED: [&str; 16] = [
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

fn moved(row: &Row) -> Vec<String> {
    let what = &row.what;
    let has_bytes = what.bytes > 0;
    let mut cells = named(row);
    cells.extend([
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
    ]);
    cells.extend(counted(row));
    cells
}

const COMPUTED: [&str; 13] = [
    "group",
    "what",
    "dtype",
    "alone us",
    "least us",
    "host us",
    "queued us",
    "TFLOP/s",
    "samples/s",
    "peak MiB",
    "launches",
    "syncs",
    "uploads",
];

fn computed(row: &Row) -> Vec<String> {
    let samples = row.what.computed.samples;
    let mut cells = named(row);
    cells.extend([
        us(row.alone.median_s),
        us(row.alone.min_s),
        us(row.host_s),
        us(row.queued.median_s),
        format!("{:.1}", row.queued.tflops),
        if samples > 0 { format!("{:.0}", row.queued.samples_per_s) } else { String::new() },
        row.peak_bytes.div_ceil(1 << 20).to_string(),
    ]);
    cells.extend(counted(row));
    cells
}

fn named(row: &Row) -> Vec<String> {
    vec![row.what.group.to_owned(), row.what.name.clone(), row.what.dtype.clone()]
}

fn counted(row: &Row) -> [String; 3] {
    [row.launches, row.host_syncs, row.table_uploads].map(|count| count.to_string())
}

fn us(seconds: f64) -> String {
    format!("{:.1}", 1e6 * seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::speed::{
        clock::Times,
        products::{Form, Product},
    };
    use binade_core::DType;
    use binade_cpu::Cpu;
    use binade_cuda::Ledger;

    struct Table(Vec<Row>);

    impl fmt::Display for Table {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write(f, &self.0)
        }
    }

    #[test]
    fn what_computes_is_told_in_operations_a_second_and_has_a_table_of_its_own() {
        let what = Product::new(Cpu, Form::Plain, (DType::F16, 1000), vec![]).what();
        let (alone, queued, host) = (vec![1e-3], vec![4e-4], vec![2e-5]);
        let ledger = Ledger { launches: 3, ..Ledger::default() };
        let row = Row::new(what, &Times { alone, queued, host, ledger, peak_bytes: 3 << 20 });
        let page = Table(vec![row]).to_string();
        let lines: Vec<Vec<&str>> =
            page.lines().map(|line| line.split_whitespace().collect()).collect();
        let expected = [
            "matmul", "1000^3", "f16", "1000.0", "1000.0", "20.0", "400.0", "5.0", "3", "3", "0",
            "0",
        ];
        assert_eq!(lines[1], expected);
        assert!(!page.contains("ceiling"), "{page}");
    }
}
