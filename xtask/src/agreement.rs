//! `cargo xtask agreement`: how far the wgpu backend agrees with the kit's oracles on each driver, as the stage `wgpu` measured it,
//! written into the README of the crate; each run of the stage is held to it.

mod rows;

use std::fs;

use serde_json::Value;

use crate::{Result, conformance, shell::root, vulkan::NAMES};

use rows::Rows;

/// Where the table stands, between two lines of its own.
const README: &str = "crates/binade-wgpu/README.md";
const BEGIN: &str = "<!-- agreement: written by `cargo xtask agreement` -->\n";
const END: &str = "<!-- end of agreement -->\n";

/// Writes what the kit measured on both drivers.
pub(crate) fn run() -> Result<()> {
    let measured = NAMES.map(|name| Ok((name, Rows::of(&conformance::kept(name)?)?)));
    let measured = measured.into_iter().collect::<Result<Vec<_>>>().map_err(|error| {
        format!("{error}: `cargo xtask ci --only wgpu` measures, and leaves the reports")
    })?;
    let path = root().join(README);
    let text = fs::read_to_string(&path)?;
    let (before, _, after) = around(&text)?;
    Ok(fs::write(path, format!("{before}{BEGIN}\n{}\n{END}{after}", rows::table(&measured)))?)
}

/// Whether the README lists each operation of this report, by the agreement that the kit asks of it. What was measured may differ from
/// one processor to the next, within it.
pub(crate) fn check(report: &Value) -> Result<()> {
    let text = fs::read_to_string(root().join(README))?;
    let (_, table, _) = around(&text)?;
    Rows::of(report)?.listed_in(table).map_err(|row| {
        format!("{README} does not say `{row}`: run `cargo xtask agreement` and commit it").into()
    })
}

/// The text before the table, the table, and the text behind it.
fn around(text: &str) -> Result<(&str, &str, &str)> {
    let halves = text.split_once(BEGIN);
    let parts = halves.and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (table, after)) =
        parts.ok_or_else(|| format!("{README} has no place for the table: {BEGIN}{END}"))?;
    Ok((before, table, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_table_is_found() {
        let text = format!("a\n{BEGIN}\n| b |\n\n{END}c\n");
        assert_eq!(around(&text).unwrap(), ("a\n", "\n| b |\n\n", "c\n"));
        assert!(around("a").is_err());
    }
}
