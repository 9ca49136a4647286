//! `cargo xtask contracts`: writes what follows from the page of contracts, or holds it to the page and the kit: the page of cases,
//! which says of each what it proves, and the kit's own table of sentences.
//!
//! Nothing here knows a case: an example of `binade-tests` prints both.

use std::fs;

use clap::Args;

use crate::{
    Result,
    shell::{Call, root},
};

/// What the example is asked for, and where that is written.
const WRITTEN: [(&str, &str); 2] =
    [("page", "docs/src/cases.md"), ("table", "crates/binade-conformance/src/contracts.txt")];

#[derive(Args)]
pub(crate) struct Contracts {
    /// Compares, and writes nothing.
    #[arg(long)]
    check: bool,
}

impl Contracts {
    pub(crate) fn run(self) -> Result<()> {
        WRITTEN.into_iter().try_for_each(|(what, file)| self.write(what, file))
    }

    fn write(&self, what: &str, file: &str) -> Result<()> {
        let example = Call::cargo("run --quiet --package binade-tests --example contracts --");
        let text = example.args([what]).read()?;
        let path = root().join(file);
        if self.check {
            return same(file, &fs::read_to_string(path).unwrap_or_default(), &text);
        }
        Ok(fs::write(path, text)?)
    }
}

/// Whether the file is what the kit says now; the first line that is not, otherwise.
fn same(file: &str, committed: &str, text: &str) -> Result<()> {
    if committed == text {
        return Ok(());
    }
    let place = committed.lines().zip(text.lines()).position(|(old, new)| old != new);
    let place = place.unwrap_or_else(|| committed.lines().count().min(text.lines().count())) + 1;
    Err(format!(
        "{file}:{place} is not what the kit says: run `cargo xtask contracts` and commit it"
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_is_told_with_the_first_line() {
        assert!(same("a.md", "a\nb\n", "a\nb\n").is_ok());
        for (committed, line) in [("a\nc\n", 2), ("a\n", 2), ("a\nb\nc\n", 3), ("", 1)] {
            let error = same("a.md", committed, "a\nb\n").unwrap_err().to_string();
            assert!(error.starts_with(&format!("a.md:{line} ")), "{error}");
        }
    }
}
