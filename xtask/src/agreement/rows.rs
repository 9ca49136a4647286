//! One line an operation: what the kit asks, and the worst that was measured over all of its element types.

use std::fmt::Write;

use serde_json::Value;

use crate::Result;

/// The operations of a report, in its order.
#[derive(Debug, PartialEq)]
pub(super) struct Rows(Vec<Row>);

#[derive(Debug, PartialEq)]
struct Row {
    operation: String,
    /// As the report writes it: `bits`, `ulps(2)`, `bound(1)`.
    agreement: String,
    /// As a share of what is asked.
    worst: f64,
}

impl Rows {
    pub(super) fn of(report: &Value) -> Result<Self> {
        let rows = report["rows"].as_array().ok_or("the report has no rows")?;
        let mut all = Self(Vec::new());
        for row in rows {
            all.add(one(row).ok_or_else(|| format!("the report has a row that is none: {row}"))?);
        }
        if all.0.is_empty() { Err("the report has no rows".into()) } else { Ok(all) }
    }

    /// Joins the element types of an operation.
    fn add(&mut self, row: Row) {
        match self.0.iter_mut().find(|it| it.operation == row.operation) {
            Some(known) => known.worst = known.worst.max(row.worst),
            None => self.0.push(row),
        }
    }

    /// The first row whose first two cells the table has not.
    pub(super) fn listed_in(&self, table: &str) -> Result<(), String> {
        let missing = self
            .0
            .iter()
            .map(Row::asked)
            .find(|row| !table.lines().any(|line| line.starts_with(row)));
        missing.map_or(Ok(()), Err)
    }
}

fn one(row: &Value) -> Option<Row> {
    Some(Row {
        operation: row["operation"].as_str()?.to_owned(),
        agreement: row["agreement"].as_str()?.to_owned(),
        worst: row["worst"].as_f64()?,
    })
}

impl Row {
    fn asked(&self) -> String {
        format!("| `{}` | {} |", self.operation, words(&self.agreement))
    }

    fn measured(&self) -> String {
        match self.agreement.as_str() {
            "bits" => "bits".to_owned(),
            _ if self.worst == 0.0 => "equal".to_owned(),
            _ => format!("{:.2} of it", self.worst),
        }
    }
}

/// What an agreement asks.
fn words(agreement: &str) -> String {
    let of = |kind| agreement.strip_prefix(kind)?.strip_suffix(')');
    match (of("ulps("), of("bound(")) {
        (Some("1"), _) => "1 unit of the last place".to_owned(),
        (Some(ulps), _) => format!("{ulps} units of the last place"),
        (_, Some("1")) => "the operation's bound".to_owned(),
        (_, Some(times)) => format!("{times} times the operation's bound"),
        _ => agreement.to_owned(),
    }
}

/// A column for each driver. All have the operations of the first, in its order, or a blank.
pub(super) fn table(measured: &[(&str, Rows)]) -> String {
    let names = measured.iter().fold(String::new(), |names, (name, _)| names + "`" + name + "` | ");
    let mut text = format!(
        "| operation | the kit asks | {}\n| --- | --- |{}\n",
        names.trim_end(),
        " --- |".repeat(measured.len())
    );
    let Some((_, first)) = measured.first() else { return text };
    for row in &first.0 {
        text += &row.asked();
        for (_, rows) in measured {
            let same = rows.0.iter().find(|it| it.operation == row.operation);
            // Writing to a string cannot fail.
            let _ = write!(text, " {} |", same.map_or(String::new(), Row::measured));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(worst: f64) -> Value {
        let row = |operation, agreement, worst| json!({ "operation": operation, "agreement": agreement, "worst": worst });
        json!({ "rows": [
            row("cast", "bits", 0.0),
            row("norm", "ulps(1)", 0.0),
            row("norm", "ulps(1)", 0.0),
            row("sum", "bound(1)", 0.25),
            row("sum", "bound(1)", worst),
        ] })
    }

    #[test]
    fn element_types_are_joined_by_their_worst() {
        let rows = |worst| Rows::of(&report(worst)).unwrap();
        let text = "\
| operation | the kit asks | `a` | `b` |
| --- | --- | --- | --- |
| `cast` | bits | bits | bits |
| `norm` | 1 unit of the last place | equal | equal |
| `sum` | the operation's bound | 0.25 of it | 0.50 of it |
";
        assert_eq!(table(&[("a", rows(0.125)), ("b", rows(0.5))]), text);
        assert_eq!(rows(0.75).listed_in(text), Ok(()), "what was measured may differ");
        let without: String = text.lines().filter(|line| !line.contains("norm")).collect();
        assert!(rows(0.5).listed_in(&without).is_err());
    }

    #[test]
    fn a_report_without_rows_is_refused() {
        assert!(Rows::of(&json!({ "rows": [] })).is_err());
        assert!(Rows::of(&json!({ "rows": [{ "operation": "cast" }] })).is_err());
    }
}
