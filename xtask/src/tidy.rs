//! `cargo xtask tidy`: what must hold in the repository and no compiler, lint or cargo-deny can say. A rule a file; all findings are
//! told. It runs inside `cargo test`, so that CI knows no rule that a contributor's own test run does not.

mod first_words;
mod floors;
mod generated;
mod links;
mod markdown;
mod members;
mod outcomes;
mod readmes;
mod sources;
mod titles;
mod tree;

use crate::{Result, issue::Issue, tidy::tree::Tree};

/// A rule: a name for the message, and the search for breaches.
type Rule = (&'static str, fn(&Tree) -> Vec<Issue>);

const RULES: [Rule; 13] = [
    ("members", members::check),
    ("manifests", members::manifests),
    ("floors", floors::check),
    ("length", sources::length),
    ("generated", generated::check),
    ("module-docs", sources::module_docs),
    ("unsafe", sources::unsafe_code),
    ("machine-paths", sources::machine_paths),
    ("first-words", first_words::check),
    ("readmes", readmes::check),
    ("links", links::check),
    ("outcomes", outcomes::check),
    ("titles", titles::check),
];

/// Runs every rule over the repository and prints one line a breach.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::load()?;
    let lines = report(&tree);
    for line in &lines {
        println!("{line}");
    }
    if let Err(why) = &tree.titles {
        println!("titles: skipped: {why}");
    }
    println!("tidy: {} rules, {} files, {} found", RULES.len(), tree.files.len(), lines.len());
    match lines.len() {
        0 => Ok(()),
        count => Err(format!("tidy found {count} things to mend").into()),
    }
}

/// All breaches of all rules, sorted by place, each with its rule's name at the end.
fn report(tree: &Tree) -> Vec<String> {
    let found =
        RULES.iter().flat_map(|(name, check)| check(tree).into_iter().map(move |it| (it, name)));
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.iter().map(|(issue, name)| format!("{issue} [{name}]")).collect()
}

/// No line, for the tests of rules.
#[cfg(test)]
const NONE: [usize; 0] = [];

/// The lines of a rule's findings in one file, for the tests of rules.
#[cfg(test)]
fn found(check: fn(&Tree) -> Vec<Issue>, path: &str, text: &str) -> Vec<usize> {
    check(&Tree::of(&[(path, text)])).into_iter().map(|issue| issue.line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let lines = report(&Tree::load().unwrap());
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn a_breach_is_told_with_its_place_and_rule() {
        let lines = report(&Tree::of(&[("crates/a/src/b.rs", "fn f() {}\n")]));
        let wanted =
            "crates/a/src/b.rs:1: say in a first line `//! …` what the file is for [module-docs]";
        assert!(lines.contains(&wanted.to_owned()), "{lines:?}");
    }
}
