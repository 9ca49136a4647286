//! A subject's report as a column of the table: what one operation came to, over all of its element types.

use std::{fs, path::Path};

use serde_json::Value;

use crate::Result;

/// What the kit writes into reports that this file can read.
const SCHEMA: &str = "binade-conformance/1";

/// One subject.
pub(super) struct Column {
    pub(super) name: String,
    /// The report, or why there is none.
    pub(super) report: Result<Value, String>,
}

/// What came of one operation.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Cell {
    pub(super) cases: u64,
    passed: u64,
    failed: u64,
    known: u64,
    skipped: u64,
    pub(super) worst: f64,
}

impl Column {
    /// The subjects of a file, which holds one report or a list of them.
    pub(super) fn of_file(path: &Path) -> Result<Vec<Self>> {
        let text = fs::read_to_string(path)
            .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let value = serde_json::from_str(&text)
            .map_err(|error| format!("{} is no JSON: {error}", path.display()))?;
        let reports = match value {
            Value::Array(reports) => reports,
            report => vec![report],
        };
        reports.into_iter().map(|report| Self::of(path, report)).collect()
    }

    fn of(path: &Path, report: Value) -> Result<Self> {
        let named = report["device"].as_str().filter(|_| report["schema"] == SCHEMA);
        let name = named.ok_or_else(|| {
            format!(
                "{} is no report of `{SCHEMA}`: the kit of this version writes it",
                path.display()
            )
        })?;
        Ok(Self { name: name.to_owned(), report: Ok(report) })
    }

    /// A device that could not be opened.
    pub(super) fn closed(name: &str, why: String) -> Self {
        Self { name: name.to_owned(), report: Err(why) }
    }

    /// The operations, each once, in the report's order.
    pub(super) fn operations(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for name in self.rows().filter_map(|row| row["operation"].as_str()) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        all
    }

    /// What came of an operation, if a case of it was run.
    pub(super) fn cell(&self, operation: &str) -> Option<Cell> {
        let mut rows = self.rows().filter(|row| row["operation"] == operation).peekable();
        rows.peek()?;
        let mut cell = Cell::default();
        for row in rows {
            let count = |key: &str| row[key].as_u64().unwrap_or(0);
            cell.cases += count("cases");
            cell.passed += count("passed");
            cell.failed += count("failed");
            cell.known += count("known");
            cell.skipped += count("skipped");
            cell.worst = cell.worst.max(row["worst"].as_f64().unwrap_or(0.0));
        }
        Some(cell)
    }

    /// The names of cases that failed, and what is listed and no case is called.
    pub(super) fn failures(&self) -> Vec<&str> {
        let failures = self.list("failures").filter_map(|failure| failure["case"].as_str());
        failures.chain(self.misnamed()).collect()
    }

    fn misnamed(&self) -> impl Iterator<Item = &str> {
        self.list("misnamed").filter_map(|listed| listed["name"].as_str())
    }

    /// Whether it was opened and something passed and nothing failed, nor was listed under a name that no case has.
    pub(super) fn is_success(&self) -> bool {
        let count = |key: &str| self.report.as_ref().ok().and_then(|report| report[key].as_u64());
        let names_cases = self.misnamed().next().is_none();
        count("failed") == Some(0) && count("passed") > Some(0) && names_cases
    }

    fn rows(&self) -> impl Iterator<Item = &Value> {
        self.list("rows")
    }

    fn list(&self, key: &str) -> impl Iterator<Item = &Value> {
        let report = self.report.as_ref().ok();
        report.and_then(|report| report[key].as_array()).into_iter().flatten()
    }
}

impl Cell {
    /// `ok`, `skipped`, `3 FAILED`, or `ok, 1 known, 2 skipped`.
    pub(super) fn status(&self) -> String {
        if self.failed > 0 {
            return format!("{} FAILED", self.failed);
        }
        if self.passed + self.known == 0 {
            return "skipped".to_owned();
        }
        let count = |n: u64, what: &str| if n == 0 { String::new() } else { format!("{n} {what}") };
        let ok = if self.passed > 0 { "ok" } else { "" };
        let parts = [ok, &count(self.known, "known"), &count(self.skipped, "skipped")];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}
