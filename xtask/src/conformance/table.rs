//! Every subject side by side: a row for each operation, with its cases, the worst difference and how it ended.

use std::fmt::Write;

use super::column::Column;

/// The table by rows, the first of which are the names.
fn cells(columns: &[Column]) -> Vec<Vec<String>> {
    let names = columns.iter().map(|column| column.name.clone());
    let mut rows = vec![["operation".to_owned()].into_iter().chain(names).collect::<Vec<_>>()];
    if columns.iter().any(|column| column.report.is_err()) {
        let opened = |column: &Column| match &column.report {
            Ok(_) => "opened".to_owned(),
            // The rest stands below the table.
            Err(why) => format!("not opened: {}", why.split(": ").next().unwrap_or(why)),
        };
        rows.push([String::new()].into_iter().chain(columns.iter().map(opened)).collect());
    }
    for operation in operations(columns) {
        let cell = |column: &Column| match column.cell(operation) {
            Some(cell) => format!("{}, {:.2}, {}", cell.cases, cell.worst, cell.status()),
            None => "-".to_owned(),
        };
        rows.push([operation.to_owned()].into_iter().chain(columns.iter().map(cell)).collect());
    }
    rows
}

/// Of all subjects, in the order in which they first have them.
fn operations(columns: &[Column]) -> Vec<&str> {
    let mut all = Vec::new();
    for name in columns.iter().flat_map(Column::operations) {
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// As Markdown, which can be read as it is too.
pub(super) fn markdown(columns: &[Column]) -> String {
    let rows = cells(columns);
    let safe = |cell: &String| cell.replace('|', "\\|").replace('\n', " ");
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(safe).collect()).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            // Writing to a string cannot fail.
            let _ = write!(text, "| {cell:<width$} ");
        }
        text += "|\n";
        if number == 0 {
            for width in &widths {
                let _ = write!(text, "| {} ", "-".repeat(*width));
            }
            text += "|\n";
        }
    }
    text
}

/// As a page for a browser that needs nothing else.
pub(super) fn html(columns: &[Column]) -> String {
    let mut text = String::from(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Conformance, side by side</title>\n\
         <style>:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem}\
         table{border-collapse:collapse}td,th{padding:.1rem .8rem .1rem 0;text-align:left;vertical-align:top;\
         border-bottom:1px solid #8884}.bad{color:light-dark(#b51c1c,#ff8a80);font-weight:bold}</style>\n<table>\n",
    );
    for (number, row) in cells(columns).into_iter().enumerate() {
        text += "<tr>";
        for cell in row {
            let bad = if cell.contains("FAILED") { " class=bad" } else { "" };
            let tag = if number == 0 { "th" } else { "td" };
            let _ = write!(text, "<{tag}{bad}>{}", escaped(&cell));
        }
        text += "</tr>\n";
    }
    text + "</table>\n</html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn row(operation: &str, counts: [u64; 4], worst: f64) -> Value {
        let [passed, failed, known, skipped] = counts;
        json!({
            "operation": operation, "cases": counts.iter().sum::<u64>(), "passed": passed, "failed": failed,
            "known": known, "skipped": skipped, "worst": worst,
        })
    }

    fn columns() -> [Column; 3] {
        let a = json!({ "rows": [row("cast", [3, 0, 0, 0], 0.0), row("cast", [4, 0, 1, 2], 0.5)] });
        let b = json!({ "rows": [row("norm", [0, 0, 0, 9], 0.0), row("cast", [1, 2, 0, 0], 1.0)] });
        [
            Column { name: "a".into(), report: Ok(a) },
            Column { name: "<b|c>".into(), report: Ok(b) },
            Column::closed("cuda", "there is no libcuda".into()),
        ]
    }

    #[test]
    fn subjects_stand_side_by_side_and_element_types_are_joined() {
        let text = "\
| operation | a                                | <b\\|c>            | cuda                            |
| --------- | -------------------------------- | ----------------- | ------------------------------- |
|           | opened                           | opened            | not opened: there is no libcuda |
| cast      | 10, 0.50, ok, 1 known, 2 skipped | 3, 1.00, 2 FAILED | -                               |
| norm      | -                                | 9, 0.00, skipped  | -                               |
";
        assert_eq!(markdown(&columns()), text);
    }

    #[test]
    fn of_a_long_reason_the_column_has_the_beginning() {
        let column = Column::closed("cuda", "no driver: looked for one in many places".into());
        assert!(markdown(&[column]).contains("| not opened: no driver |"));
    }

    #[test]
    fn the_page_escapes_what_is_a_name() {
        let page = html(&columns());
        assert!(page.contains("<th>&lt;b|c&gt;") && !page.contains("<b|c>"), "{page}");
        assert!(page.contains("<td class=bad>3, 1.00, 2 FAILED"), "{page}");
    }

    #[test]
    fn where_every_device_was_opened_nothing_is_said_of_it() {
        assert!(!markdown(&columns()[..2]).contains("opened"));
    }
}
