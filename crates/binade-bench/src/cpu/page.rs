//! Figures of a run, and the versions that they come from.

use super::Options;
use super::row::{Row, median};
use crate::Origin;
use serde::Serialize;
use std::fmt;

/// Figures of a run. Displays as a table in Markdown.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    #[serde(flatten)]
    origin: Origin,
    threads: usize,
    /// Version of PyTorch, if the run was beside it.
    torch: Option<String>,
    dry_run: bool,
    pub(super) rows: Vec<Row>,
}

impl Page {
    pub(super) fn new(
        options: &Options,
        origin: Origin,
        torch: Option<String>,
        rows: Vec<Row>,
    ) -> Self {
        let (threads, dry_run) = (options.threads, options.dry_run);
        Self { origin, threads, torch, dry_run, rows }
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, threads, torch, .. } = self;
        let torch = torch.as_ref().map_or(String::new(), |it| format!("; PyTorch {it}"));
        writeln!(f, "{origin}; {threads} threads on either side{torch}.\n")?;
        writeln!(
            f,
            "| group | what | ours | PyTorch | times as fast | GB/s | share of in place | GFLOP/s | in place, GB/s | peak MiB, ours and PyTorch's |"
        )?;
        writeln!(f, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "| {} |", cells(row).join(" | ")))
    }
}

fn cells(row: &Row) -> [String; 10] {
    let moves = row.bytes > 0;
    #[expect(clippy::cast_possible_truncation, reason = "a machine of 64 bits")]
    let flops = row.flops as usize;
    let mebibytes = |bytes: Option<u64>| bytes.map_or("–".into(), |it| (it >> 20).to_string());
    let peaks =
        if row.peaks == [None; 2] { String::new() } else { row.peaks.map(mebibytes).join(", ") };
    [
        row.group.into(),
        row.name.clone(),
        time(median(row.ours.iter().copied())),
        time(median(row.peer.iter().copied())),
        figure(!row.peer.is_empty(), row.ratio(), 2),
        figure(moves, row.rate(row.bytes), 1),
        figure(moves, row.share(), 2),
        figure(flops > 0, row.rate(flops), 0),
        row.canary.map(|it| format!("{it:.0}")).join(", "),
        peaks,
    ]
}

fn figure(is_told: bool, value: f64, digits: usize) -> String {
    if is_told { format!("{value:.digits$}") } else { String::new() }
}

/// Returns seconds in a unit of three to six digits; a dash for NaN.
fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds.is_nan() => "–".into(),
        _ if seconds < 1e-6 => format!("{:.1} ns", 1e9 * seconds),
        _ if seconds < 1e-3 => format!("{:.2} µs", 1e6 * seconds),
        _ => format!("{:.2} ms", 1e3 * seconds),
    }
}
