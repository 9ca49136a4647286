//! Reports for people: one page that needs nothing else.

use super::Report;
use super::row::Row;
use super::text::rest;
use crate::Failure;
use std::fmt::Write;

/// Light and dark as the browser is; a row's status is its class, and a button above hides all others.
const STYLE: &str = ":root{color-scheme:light dark}\
    body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
    table{border-collapse:collapse}th,td{padding:.1rem .8rem .1rem 0;text-align:left;border-bottom:1px solid #8884}\
    td.n{text-align:right;font-variant-numeric:tabular-nums}pre{overflow-x:auto;margin:.3rem 0 1rem}\
    .ok .s{color:light-dark(#1f6d1f,#7bd27b)}.skipped .s{color:light-dark(#7a5a00,#e0b84c)}\
    .known .s{color:light-dark(#6a3fa0,#c3a1f0)}.failed .s{color:light-dark(#b51c1c,#ff8a80);font-weight:bold}\
    fieldset{border:1px solid #8884;display:inline-block}label{margin-right:1rem}\
    body:has(#show-failed:checked) .row:not(.failed),body:has(#show-known:checked) .row:not(.known),\
    body:has(#show-skipped:checked) .row:not(.skipped),body:has(#show-ok:checked) .row:not(.ok){display:none}";

/// Classes of rows that can be shown alone.
const SHOWN: [&str; 5] = ["all", "failed", "known", "skipped", "ok"];

/// A page with every report: its table, its failures, its skips. It loads nothing and runs no script.
pub fn html(reports: &[Report]) -> String {
    let bodies: String = reports.iter().map(body).collect();
    let buttons: String = SHOWN.iter().map(|status| button(status)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Conformance</title>\n\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style>\n\
         <h1>Conformance</h1>\n<fieldset><legend>Show</legend>{buttons}</fieldset>\n{bodies}</html>\n"
    )
}

fn button(status: &str) -> String {
    let checked = if status == "all" { " checked" } else { "" };
    format!(
        "<label><input type=\"radio\" name=\"show\" id=\"show-{status}\"{checked}> {status}</label>"
    )
}

fn body(report: &Report) -> String {
    let rows: String = report.rows().iter().map(row).collect();
    let mut text = format!(
        "<h2>{}</h2>\n<p>{}</p>\n<p><b>{}</b></p>\n",
        escaped(report.subject()),
        escaped(&report.arithmetic().to_string()),
        report.counts(),
    );
    let failures =
        report.failed().into_iter().map(|(case, it)| failure(report, "failed", case, ("", it)));
    text += &section("Failures", failures.collect());
    let known = report.known().into_iter();
    let known = known.map(|(case, it, why)| failure(report, "known", case, (why, it)));
    text += &section("Known failures", known.collect());
    let listed =
        |class, list: Vec<(&str, &str)>| list.into_iter().map(|it| line(class, it)).collect();
    text += &section("Listed, and no case is called so", listed("failed", report.misnamed()));
    text += &section("Known, and not run", listed("known", report.not_run()));
    text += &section("Skips", listed("skipped", report.skipped()));
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "<h3>Operations</h3>\n<table><tr><th>suite<th>operation<th>dtype<th>cases<th>agreement<th>worst<th>status\
         </tr>\n{rows}</table>"
    );
    text
}

/// A heading and what it is of, or nothing.
fn section(heading: &str, items: String) -> String {
    if items.is_empty() { items } else { format!("<h3>{heading}</h3>\n{items}") }
}

fn row(row: &Row) -> String {
    let (group, variant, agreement) = (row.group, escaped(&row.variant), row.agreement);
    format!(
        "<tr class=\"row {}\"><td>{}<td>{group}<td>{variant}<td class=n>{}<td>{agreement}<td class=n>{:.3}<td class=s>{}</tr>\n",
        class(row),
        group.suite(),
        row.cases(),
        row.worst,
        row.status()
    )
}

/// Class of a row: the worst of what its cases are.
fn class(row: &Row) -> &'static str {
    match (row.failed, row.known, row.skipped) {
        (0, 0, 0) => "ok",
        (0, 0, _) => "skipped",
        (0, ..) => "known",
        _ => "failed",
    }
}

fn failure(
    report: &Report,
    class: &str,
    case: &str,
    (reason, failure): (&str, &Failure),
) -> String {
    let gap = if reason.is_empty() { "" } else { ": " };
    let text = escaped(&format!("{failure}{}", rest(report, case)));
    let (case, reason) = (escaped(case), escaped(reason));
    format!(
        "<details open class=\"row {class}\"><summary class=s>{case}{gap}{reason}</summary><pre>{text}</pre></details>\n"
    )
}

fn line(class: &str, (case, reason): (&str, &str)) -> String {
    let (case, reason) = (escaped(case), escaped(reason));
    format!("<div class=\"row {class}\"><code class=s>{case}</code>: {reason}</div>\n")
}

/// `text` with nothing in it that a browser takes for markup, inside of an attribute neither.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
