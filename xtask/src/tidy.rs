//! `cargo xtask tidy`: what must hold in the repository and no compiler, lint or cargo-deny can say. All findings are told. It runs
//! inside `cargo test`, so that CI knows no rule that a contributor's own test run does not.

mod first_words;
mod floors;
mod links;
mod members;
mod outcomes;
mod readmes;
mod sources;
mod titles;
mod tree;

use crate::{
    Result,
    issue::{Issue, verdict},
    tidy::tree::Tree,
};

/// A rule: a name for the message, and the search for breaches.
type Rule = (&'static str, fn(&Tree) -> Vec<Issue>);

const RULES: [Rule; 13] = [
    ("members", members::check),
    ("manifests", members::manifests),
    ("floors", floors::check),
    ("length", sources::length),
    ("generated", sources::generated),
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
    if let Err(why) = &tree.titles {
        println!("titles: skipped: {why}");
    }
    println!("{} rules, {} files", RULES.len(), tree.files.len());
    verdict(&report(&tree), "repository")
}

/// All breaches of all rules, sorted by place, each with its rule's name at the end.
fn report(tree: &Tree) -> Vec<Issue> {
    let found = RULES.iter().flat_map(|(name, check)| {
        let named = move |it: Issue| Issue { message: format!("{} [{name}]", it.message), ..it };
        check(tree).into_iter().map(named)
    });
    let mut found: Vec<_> = found.collect();
    found.sort();
    found
}

/// The lines of a rule's findings in one file, for the tests of rules.
#[cfg(test)]
fn found(check: fn(&Tree) -> Vec<Issue>, path: &str, text: &str) -> Vec<usize> {
    check(&Tree::of(&[(path, text)])).into_iter().map(|issue| issue.line).collect()
}

/// The messages of a rule's findings in a tree, for the tests of rules.
#[cfg(test)]
fn told(check: fn(&Tree) -> Vec<Issue>, tree: &Tree) -> String {
    check(tree).iter().fold(String::new(), |told, issue| format!("{told}{issue}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        assert_eq!(told(report, &Tree::load().unwrap()), "");
    }

    #[test]
    fn a_breach_is_told_with_its_place_and_rule() {
        let lines = told(report, &Tree::of(&[("crates/a/src/b.rs", "fn f() {}\n")]));
        let wanted =
            "crates/a/src/b.rs:1: say in a first line `//! …` what the file is for [module-docs]\n";
        assert!(lines.contains(wanted), "{lines}");
    }
}
