//! `cargo xtask tidy`: what must hold in the repository and no compiler, lint or cargo-deny can say. All findings are told. It runs
//! inside `cargo test`, so that CI knows no rule that a contributor's own test run does not.

mod floors;
mod links;
mod members;
mod outcomes;
mod text;
mod titles;
mod tree;

use crate::{
    Result,
    issue::{Issue, verdict},
    tidy::{text::patterns, tree::Tree},
};

/// A rule: a name for the message, and the search for breaches. Rules that are a pattern stand in `patterns.toml`.
type Rule = (&'static str, fn(&Tree) -> Vec<Issue>);

const RULES: [Rule; 9] = [
    ("members", members::check),
    ("manifests", members::manifests),
    ("readmes", members::readmes),
    ("floors", floors::check),
    ("length", text::length),
    ("generated", text::generated),
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
    println!("{} rules, {} files", RULES.len() + patterns().len(), tree.files.len());
    verdict(&report(&tree), "repository")
}

/// All breaches of all rules, sorted by place, each with its rule's name at the end.
fn report(tree: &Tree) -> Vec<Issue> {
    let rules = RULES.iter().map(|(name, check)| (*name, check(tree)));
    let patterns = patterns();
    let patterns = patterns.iter().map(|pattern| (pattern.name.as_str(), pattern.check(tree)));
    let named = |(name, issues): (_, Vec<Issue>)| {
        let named = move |it: Issue| Issue { message: format!("{} [{name}]", it.message), ..it };
        issues.into_iter().map(named)
    };
    let mut found: Vec<_> = rules.chain(patterns).flat_map(named).collect();
    found.sort();
    found
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
}
