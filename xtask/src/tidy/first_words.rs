//! First words of docs: a block that begins with a relative or a pronoun does not name the thing that it documents.
//!
//! `first_words.txt` has the blocks that still do, by package: the numbers may only fall, to none. A package without a row has none.

use std::{cmp::Ordering, collections::BTreeMap};

use regex_lite::Regex;

use crate::{
    issue::{Issue, regex},
    tidy::tree::Tree,
};

/// A line of docs, and its first words where they are bad ones.
const DOC: &str = r"^\s*//[/!]\s*((What|Whether|Those|The same|Whoever)([^A-Za-z0-9]|$))?";

/// The table: a package's folder and a number a line.
const TABLE: &str = "xtask/src/tidy/first_words.txt";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let rows = tree.text(TABLE).unwrap_or_default().lines().filter_map(|row| row.split_once(' '));
    let most: BTreeMap<_, usize> =
        rows.filter_map(|(it, most)| Some((it, most.parse().ok()?))).collect();
    let mut blocks: BTreeMap<&str, Vec<Issue>> = most.keys().map(|it| (*it, Vec::new())).collect();
    let doc = regex(DOC);
    for (path, text) in tree.with(&["rs"]) {
        blocks.entry(package(path)).or_default().extend(begins(&doc, path, text));
    }
    let judged = blocks.into_iter().flat_map(|(name, found)| {
        let (count, most) = (found.len(), most.get(name).copied().unwrap_or(0));
        let lower = format!("lower the number of `{name}` from {most} to {count}");
        let more =
            format!("{count} docs begin with a word of the list, at most {most}: none is added");
        match count.cmp(&most) {
            Ordering::Less => vec![Issue::new(TABLE, 0, lower)],
            Ordering::Equal => Vec::new(),
            Ordering::Greater if most == 0 => found,
            Ordering::Greater => vec![Issue::new(name, 0, more)],
        }
    });
    judged.collect()
}

/// The folder of the package at `path`: two parts where packages lie in a folder of their own.
fn package(path: &str) -> &str {
    let parts = if path.starts_with("crates/") || path.starts_with("examples/") { 2 } else { 1 };
    path.match_indices('/').nth(parts - 1).map_or(path, |(end, _)| &path[..end])
}

/// The blocks of docs in `text` that begin with one of the words.
fn begins(doc: &Regex, path: &str, text: &str) -> Vec<Issue> {
    let why = "name the thing first in its doc: \"Returns …\", \"State shared by …\"";
    let (mut issues, mut is_inside) = (Vec::new(), false);
    for (at, line) in text.lines().enumerate() {
        let parts = if line.contains("//") { doc.captures(line) } else { None };
        let is_bad = parts.as_ref().is_some_and(|parts| parts.get(1).is_some());
        issues.extend((is_bad && !is_inside).then(|| Issue::new(path, at + 1, why)));
        is_inside = parts.is_some();
    }
    issues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::told;

    #[test]
    fn a_block_that_begins_with_one_of_the_words_is_found_once() {
        let lines = |text| {
            let issues = begins(&regex(DOC), "a.rs", text).into_iter();
            issues.map(|issue| issue.line).collect::<Vec<_>>()
        };
        let text = "//! What it is.\n\nfn f() {}\n    /// Returns it.\n    /// What more.\n/// The same, said again.\n";
        assert_eq!(lines(text), [1]);
        assert_eq!(lines("/// Whatever.\n\n/// Those of `x`.\n\n// What.\n"), [3]);
    }

    #[test]
    fn a_number_must_be_the_count_and_no_more_can_be_added() {
        let told =
            |table, docs| told(check, &Tree::of(&[(TABLE, table), ("crates/a/src/b.rs", docs)]));
        assert_eq!(told("crates/a 1\n", "//! What.\n"), "");
        assert!(told("", "//! What.\n").starts_with("crates/a/src/b.rs:1: name the thing"));
        let two = told("crates/a 1\n", "//! What.\n\n/// Whether.\n");
        assert!(
            two.starts_with("crates/a: 2 docs") && two.ends_with("1: none is added\n"),
            "{two}"
        );
        let less = told("crates/a 2\n", "//! What.\n");
        assert!(less.ends_with("lower the number of `crates/a` from 2 to 1\n"), "{less}");
    }
}
