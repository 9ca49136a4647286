//! `cargo xtask book`: builds `docs/` as a book, and makes sure that no link in it leads nowhere.
//!
//! mdBook renders; [`preprocess`] is what it asks for each chapter's text, so that the same links work on a forge and in the
//! book. `mdbook serve docs` works as well.

mod html;
pub(crate) mod markdown;
mod pages;
mod preprocess;

pub(crate) use preprocess::Preprocess;

use std::{env, fs, process::Command, time::Instant};

use crate::{
    Result,
    ci::Outcome,
    shell::{Call, heard, on_path, root},
};

/// Where the book is built, as `docs/book.toml` says too.
const BUILT: &str = "target/book";
/// The list of cases that one page includes, and the program that prints it: nothing here knows a case.
const CASES: &str = "target/cases.md";
const LISTED: &str = "run --quiet --package binade-tests --example cases";
const ADVICE: &str = "mdbook is not installed: cargo install mdbook --locked";

/// Builds the book and checks it. A book that could not be built is told, and an error where `BINADE_REQUIRE` names `book`.
pub(crate) fn run() -> Result<()> {
    let start = Instant::now();
    let outcome = outcome()?;
    println!("book: {outcome} ({:.1} s)", start.elapsed().as_secs_f64());
    verdict(outcome, &env::var("BINADE_REQUIRE").unwrap_or_default())
}

/// Whether the command ends well where this is required.
fn verdict(outcome: Outcome, required: &str) -> Result<()> {
    match outcome {
        Outcome::Passed(_) => Ok(()),
        Outcome::Skipped(_) if required.split(',').all(|name| name.trim() != "book") => Ok(()),
        Outcome::Skipped(reason) => {
            Err(format!("BINADE_REQUIRE names `book`, but it was skipped: {reason}").into())
        }
        Outcome::Failed(what) => Err(what.into()),
    }
}

/// The same, for a stage of CI.
pub(crate) fn outcome() -> Result<Outcome> {
    let Some(mdbook) = on_path("mdbook") else {
        return Ok(Outcome::Skipped(ADVICE.into()));
    };
    fs::write(root().join(CASES), Call::cargo(LISTED).read()?)?;
    let said = heard(Command::new(mdbook).args(["build", "docs"]).current_dir(root()))?;
    let warnings = said.lines().filter(|line| line.contains("WARN"));
    let mut found: Vec<_> = warnings.map(str::to_owned).collect();
    let book = html::Book::read(&root().join(BUILT))?;
    let (links, broken) = book.check();
    found.extend(broken);
    for line in &found {
        println!("{line}");
    }
    Ok(match found.len() {
        0 => Outcome::Passed(format!("{} pages, {links} links", book.pages())),
        count => Outcome::Failed(format!("{count} things to mend in the book")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_fails_where_the_book_is_required_and_nowhere_else() {
        let skipped = || Outcome::Skipped("absent".into());
        assert!(verdict(skipped(), "cpu,books").is_ok());
        let error = verdict(skipped(), "cpu, book").unwrap_err().to_string();
        assert!(error.contains("absent"), "{error}");
        assert!(verdict(Outcome::Failed("a link".into()), "").is_err());
        assert!(verdict(Outcome::passed(), "book").is_ok());
    }

    #[test]
    fn the_book_is_built_where_it_is_checked() {
        let config = fs::read_to_string(root().join("docs/book.toml")).unwrap();
        assert!(config.contains(&format!("build-dir = \"../{BUILT}\"")), "{config}");
        assert!(config.contains("create-missing = false"), "{config}");
        let page = fs::read_to_string(root().join("docs/src/cases.md")).unwrap();
        assert!(page.contains(&format!("{{{{#include ../../{CASES}}}}}")), "{page}");
    }
}
