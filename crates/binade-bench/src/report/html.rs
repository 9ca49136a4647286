//! Reports for people: one page that needs nothing else.

use binade_conformance::{Failure, Report, Row};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse}th,td{padding:.1rem .8rem .1rem 0;text-align:left;border-bottom:1px solid #8884}\
    td.n{text-align:right;font-variant-numeric:tabular-nums}pre{overflow-x:auto}\
    .ok{color:#2a7d2a}.skipped{color:#946c00}.failed{color:#c22;font-weight:bold}";

/// A page with every report: its table, its failures, its skips.
pub fn html(reports: &[Report]) -> String {
    let bodies: String = reports.iter().map(body).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Conformance</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\n\
         <h1>Conformance</h1>\n{bodies}</html>\n"
    )
}

fn body(report: &Report) -> String {
    let (failed, skipped) = (report.failed(), report.skipped());
    let rows: String = report.rows().iter().map(row).collect();
    format!(
        "<h2>{}</h2>\n<p>{}</p>\n<p><b>{} passed, {} failed, {} skipped</b></p>\n{}{}\
         <table><tr><th>operation<th>dtype<th>cases<th>agreement<th>worst<th>status</tr>\n{rows}</table>\n",
        escaped(report.subject()),
        escaped(&report.arithmetic().to_string()),
        report.passed(),
        failed.len(),
        skipped.len(),
        section("Failures", failed.iter().map(failure).collect()),
        section("Skips", skipped.iter().map(skip).collect()),
    )
}

/// A heading and what it is of, or nothing.
fn section(heading: &str, items: String) -> String {
    if items.is_empty() { items } else { format!("<h3>{heading}</h3>\n{items}") }
}

fn row(row: &Row) -> String {
    let class = match (row.failed, row.skipped) {
        (0, 0) => "ok",
        (0, _) => "skipped",
        _ => "failed",
    };
    let (operation, variant, agreement) = (row.operation, escaped(&row.variant), row.agreement);
    format!(
        "<tr><td>{operation}<td>{variant}<td class=n>{}<td>{agreement}<td class=n>{:.3}<td class={class}>{}</tr>\n",
        row.cases(),
        row.worst,
        row.status()
    )
}

fn failure((case, failure): &(&str, &Failure)) -> String {
    let (case, text) = (escaped(case), escaped(&failure.to_string()));
    format!("<details open><summary class=failed>{case}</summary><pre>{text}</pre></details>\n")
}

fn skip((case, reason): &(&str, &str)) -> String {
    format!("<div><code>{}</code>: {}</div>\n", escaped(case), escaped(reason))
}

/// `text` with nothing in it that a browser takes for markup.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
