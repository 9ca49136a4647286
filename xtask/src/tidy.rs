//! `cargo xtask tidy`: what must hold in the repository and the compiler cannot say. A rule a file; all findings are told.
//!
//! It runs inside `cargo test`, so that CI knows no rule that a contributor's own test run does not.

mod code;
mod crate_docs;
mod default_members;
mod differences;
mod external;
mod floors;
mod generated;
mod leftovers;
mod length;
mod links;
mod machine_paths;
mod manifests;
mod members;
mod module_docs;
mod outcomes;
mod package;
mod readme;
mod tree;
mod unsafe_code;

use std::fmt;

use crate::{Result, shell::root, tidy::tree::Tree};

/// A rule: a name for the message, and what looks for breaches.
type Rule = (&'static str, fn(&Tree) -> Vec<Issue>);

const RULES: [Rule; 16] = [
    ("members", members::check),
    ("default-members", default_members::check),
    ("manifests", manifests::check),
    ("floors", floors::check),
    ("external", external::check),
    ("length", length::check),
    ("generated", generated::check),
    ("module-docs", module_docs::check),
    ("crate-docs", crate_docs::check),
    ("readme", readme::check),
    ("differences", differences::check),
    ("links", links::check),
    ("unsafe", unsafe_code::check),
    ("leftovers", leftovers::check),
    ("machine-paths", machine_paths::check),
    ("outcomes", outcomes::check),
];

/// One breach: where it is, what it is and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Issue {
    path: String,
    /// From 1; 0 when the file is missing or the breach is of the file as a whole.
    line: usize,
    message: String,
}

impl Issue {
    pub(crate) fn new(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// Runs every rule over the repository and prints one line a breach.
pub(crate) fn run() -> Result<()> {
    let tree = Tree::load(&root())?;
    let lines = report(&tree);
    for line in &lines {
        println!("{line}");
    }
    println!("tidy: {} rules, {} files, {} found", RULES.len(), tree.files().count(), lines.len());
    if lines.is_empty() {
        Ok(())
    } else {
        Err(format!("tidy found {} things to mend", lines.len()).into())
    }
}

/// All breaches of all rules, sorted by place, each with its rule's name at the end.
fn report(tree: &Tree) -> Vec<String> {
    let found = RULES
        .iter()
        .flat_map(|(name, check)| check(tree).into_iter().map(move |issue| (issue, name)));
    let mut found: Vec<_> = found.collect();
    found.sort();
    found.iter().map(|(issue, name)| format!("{issue} [{name}]")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let lines = report(&Tree::load(&root()).unwrap());
        assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
    }

    #[test]
    fn a_breach_is_told_with_its_place_and_rule() {
        let tree = Tree::of(&[
            ("crates/a/src/b.rs", "fn f() {}\n"),
            ("README.md", crate::tidy::readme::COMMANDS.join("\n").as_str()),
            (differences::PAGE, "| we | test |\n|---|---|\n| a | [c](../c.rs) `holds` |\n"),
            ("c.rs", "//! Tests.\n#[test]\nfn holds() {}\n"),
        ]);
        assert_eq!(
            report(&tree),
            ["crates/a/src/b.rs:1: say in a first line `//! …` what the file is for [module-docs]"]
        );
    }
}
