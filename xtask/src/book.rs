//! `cargo xtask book`: builds `docs/` as a book. Tidy follows its links, which lead from the book where they lead from the sources.

use std::{fs, process::Command};

use crate::{
    Result,
    shell::{Call, heard, root},
};

/// Lists the kit's cases for the page that includes them, and runs mdBook, whose warnings are errors.
pub(crate) fn run() -> Result<()> {
    // With the features that `cargo test` builds it with, so that CI builds nothing again.
    let cases = Call::line("cargo run --quiet --all-features --example cases").read()?;
    fs::write(root().join("target/cases.md"), cases)?;
    let said = heard(Command::new("mdbook").args(["build", "docs"]).current_dir(root()))?;
    let warnings: Vec<_> = said.lines().filter(|line| line.contains("WARN")).collect();
    if warnings.is_empty() { Ok(()) } else { Err(warnings.join("\n").into()) }
}
