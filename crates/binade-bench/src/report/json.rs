//! Reports for programs.

use binade_conformance::Report;
use serde::Serialize;

#[derive(Serialize)]
struct Page<'r> {
    device: &'r str,
    passed: usize,
    failed: usize,
    skipped: Vec<Skip<'r>>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Skip<'r> {
    case: &'r str,
    reason: &'r str,
}

#[derive(Serialize)]
struct Row {
    operation: &'static str,
    dtype: String,
    agreement: String,
    cases: usize,
    worst: f64,
    status: String,
}

/// One report as an object, any other number of them as a list.
///
/// # Errors
///
/// When a number is one that JSON has not.
pub fn json(reports: &[Report]) -> serde_json::Result<String> {
    match reports {
        [one] => serde_json::to_string_pretty(&page(one)),
        all => serde_json::to_string_pretty(&all.iter().map(page).collect::<Vec<_>>()),
    }
}

fn page(report: &Report) -> Page<'_> {
    let skip = |(case, reason)| Skip { case, reason };
    Page {
        device: report.subject(),
        passed: report.passed(),
        failed: report.failed().len(),
        skipped: report.skipped().into_iter().map(skip).collect(),
        rows: report.rows().into_iter().map(row).collect(),
    }
}

fn row(row: binade_conformance::Row) -> Row {
    let (cases, status) = (row.cases(), row.status());
    let (operation, agreement) = (row.operation.name(), row.agreement.to_string());
    Row { operation, dtype: row.variant, agreement, cases, worst: row.worst, status }
}
