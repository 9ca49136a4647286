//! `cargo xtask contracts`: writes the page of the kit's cases, which says of each what it proves, or holds it to the kit.
//!
//! Nothing here knows a case: an example of `binade-tests` prints the page.

use std::fs;

use clap::Args;

use crate::{
    Result,
    shell::{Call, root},
};

/// The page that is written.
const PAGE: &str = "docs/src/cases.md";

#[derive(Args)]
pub(crate) struct Contracts {
    /// Compares, and writes nothing.
    #[arg(long)]
    check: bool,
}

impl Contracts {
    pub(crate) fn run(self) -> Result<()> {
        let page = Call::cargo("run --quiet --package binade-tests --example contracts").read()?;
        let path = root().join(PAGE);
        if self.check {
            return same(&fs::read_to_string(path).unwrap_or_default(), &page);
        }
        Ok(fs::write(path, page)?)
    }
}

/// Whether the page is what the kit says now; the first line that is not, otherwise.
fn same(committed: &str, page: &str) -> Result<()> {
    if committed == page {
        return Ok(());
    }
    let place = committed.lines().zip(page.lines()).position(|(old, new)| old != new);
    let place = place.unwrap_or_else(|| committed.lines().count().min(page.lines().count())) + 1;
    Err(format!(
        "{PAGE}:{place} is not what the kit says: run `cargo xtask contracts` and commit it"
    )
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_differs_is_told_with_the_first_line() {
        assert!(same("a\nb\n", "a\nb\n").is_ok());
        for (committed, line) in [("a\nc\n", 2), ("a\n", 2), ("a\nb\nc\n", 3), ("", 1)] {
            let error = same(committed, "a\nb\n").unwrap_err().to_string();
            assert!(error.starts_with(&format!("{PAGE}:{line} ")), "{error}");
        }
    }
}
