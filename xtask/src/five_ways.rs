//! `cargo xtask five-ways`: one model trained with the tape, on plain slices, with a tensor of one's own, in candle and in burn, and the
//! table in the README. Each way is a program that prints its rows as JSON.

#[cfg(test)]
mod tests;

use std::{fmt::Write, fs};

use serde::Deserialize;

use crate::{
    Result,
    shell::{Call, root},
};

/// The lines of the README that the table stands between.
const BEGIN: &str = "<!-- five ways: written by `cargo xtask five-ways` -->\n";
const END: &str = "<!-- end of five ways -->\n";

/// The programs that train. candle's products are too slow without optimisation, and burn too slow to build with it.
const PROGRAMS: [&str; 3] = [
    "--package binade-example-five-ways --bin five_ways",
    "--package binade-example-candle --bin candle_five_ways --release",
    "--package binade-example-burn --bin burn_five_ways",
];

/// A run, as `binade-example-shared` describes it.
#[derive(Deserialize)]
struct Row {
    way: String,
    precision: String,
    with: String,
    accuracy: f64,
    loss: Option<f64>,
    moved: f64,
    scaling: Option<Scaling>,
}

#[derive(Deserialize)]
struct Scaling {
    skipped: u64,
    scale: f64,
}

/// Trains every way, prints the table and puts it in the README.
pub(crate) fn run() -> Result<()> {
    let mut rows = Vec::new();
    for program in PROGRAMS {
        let call = Call::cargo(&format!("run --quiet {program}"));
        println!("{call}");
        rows.extend(serde_json::from_str::<Vec<Row>>(&call.read()?)?);
    }
    let table = table(&rows)?;
    println!("{table}");
    let readme = root().join("README.md");
    let text = with_table(&fs::read_to_string(&readme)?, &table)?;
    Ok(fs::write(readme, text)?)
}

/// `text` with the table in its place, an empty line on either side.
fn with_table(text: &str, table: &str) -> Result<String> {
    let (before, _, after) = around(text)?;
    Ok(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

/// The text before the table, the table, and the text behind it.
fn around(text: &str) -> Result<(&str, &str, &str)> {
    let halves = text.split_once(BEGIN);
    let parts = halves.and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (table, after)) =
        parts.ok_or_else(|| format!("README.md has no place for it: {BEGIN}{END}"))?;
    Ok((before, table, after))
}

fn table(rows: &[Row]) -> Result<String> {
    let mut table = "| way | weights | trained by | test accuracy | loss | weights moved | skipped steps | scale at the end |\n\
                     |---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for Row { way, precision, with, accuracy, loss, moved, scaling } in rows {
        let loss = loss.map_or_else(|| "not finite".to_owned(), |loss| format!("{loss:.3}"));
        let (skipped, scale) = match scaling {
            Some(Scaling { skipped, scale }) => (skipped.to_string(), power(*scale)),
            None => ("–".into(), "–".into()),
        };
        let (accuracy, moved) = (100.0 * accuracy, 100.0 * moved);
        writeln!(
            table,
            "| {way} | {precision} | {with} | {accuracy:.1} % | {loss} | {moved:.0} % | {skipped} | {scale} |"
        )?;
    }
    Ok(table)
}

/// `2^17`, or the number where it is no power of two.
fn power(scale: f64) -> String {
    let exponent = scale.log2();
    if exponent.fract() == 0.0 && scale != 1.0 {
        format!("2^{exponent}")
    } else {
        scale.to_string()
    }
}
