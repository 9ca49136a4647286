//! `cargo xtask agreement`: how far the wgpu backend agrees with the kit's oracles on each driver, as the stage `wgpu` measured it,
//! written into the README of the crate; each run of the stage is held to it.

mod rows;

use serde_json::Value;

use crate::{Result, between::Between, conformance, vulkan::NAMES};

use rows::Rows;

/// Where the table stands.
const PLACE: Between = Between {
    file: "crates/binade-wgpu/README.md",
    begin: "<!-- agreement: written by `cargo xtask agreement` -->\n",
    end: "<!-- end of agreement -->\n",
};

/// Writes what the kit measured on both drivers.
pub(crate) fn run() -> Result<()> {
    let measured = NAMES.map(|name| Ok((name, Rows::of(&conformance::kept(name)?)?)));
    let measured = measured.into_iter().collect::<Result<Vec<_>>>().map_err(|error| {
        format!("{error}: `cargo xtask ci --only wgpu` measures, and leaves the reports")
    })?;
    PLACE.write(&rows::table(&measured))
}

/// Whether the README lists each operation of this report, by the agreement that the kit asks of it. What was measured may differ from
/// one processor to the next, within it.
pub(crate) fn check(report: &Value) -> Result<()> {
    Rows::of(report)?.listed_in(&PLACE.read()?).map_err(|row| {
        let file = PLACE.file;
        format!("{file} does not say `{row}`: run `cargo xtask agreement` and commit it").into()
    })
}
