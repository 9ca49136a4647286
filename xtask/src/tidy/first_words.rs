//! The first words of docs: a block that begins with a relative or a pronoun does not name the thing that it documents.
//!
//! `first_words.txt` has the blocks that still do, by package: the numbers may only fall, to none. A package without a row has none.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::{issue::Issue, tidy::tree::Tree};

const WORDS: [&str; 5] = ["What", "Whether", "Those", "The same", "Whoever"];

/// The table: a package's folder and a number a line.
const TABLE: &str = "xtask/src/tidy/first_words.txt";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let rows = tree.text(TABLE).unwrap_or_default().lines().filter_map(|row| row.split_once(' '));
    let most: BTreeMap<_, usize> =
        rows.filter_map(|(it, most)| Some((it, most.parse().ok()?))).collect();
    let mut blocks: BTreeMap<&str, Vec<Issue>> = most.keys().map(|it| (*it, Vec::new())).collect();
    for (path, text) in tree.with(&["rs"]) {
        blocks.entry(package(path)).or_default().extend(begins(path, text));
    }
    let judged = blocks.into_iter().flat_map(|(name, found)| {
        let (count, most) = (found.len(), most.get(name).copied().unwrap_or(0));
        let lower = format!("lower the number of `{name}` from {most} to {count}");
        match count.cmp(&most) {
            Ordering::Less => vec![Issue::new(TABLE, 0, lower)],
            Ordering::Equal => Vec::new(),
            Ordering::Greater if most == 0 => found,
            Ordering::Greater => vec![Issue::new(
                name,
                0,
                format!("{count} docs begin with {WORDS:?}, at most {most}: none is added"),
            )],
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
fn begins(path: &str, text: &str) -> Vec<Issue> {
    let is_doc = |line: &str| line.starts_with("///") || line.starts_with("//!");
    let is_bad = |line: &str| {
        let mut rests =
            WORDS.iter().filter_map(|word| line.get(3..)?.trim_start().strip_prefix(word));
        is_doc(line) && rests.any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    let is_first = |at: usize| at == 0 || !is_doc(lines[at - 1]);
    let bad =
        (0..lines.len()).filter(|&at| lines[at].len() > 3 && is_first(at) && is_bad(lines[at]));
    let why = "name the thing first in its doc: \"Returns …\", \"State shared by …\"";
    bad.map(|at| Issue::new(path, at + 1, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_begins_with_one_of_the_words_is_found_once() {
        let text = "//! What it is.\n\nfn f() {}\n    /// Returns it.\n    /// What more.\n/// The same, said again.\n";
        let lines =
            |text| begins("a.rs", text).into_iter().map(|issue| issue.line).collect::<Vec<_>>();
        assert_eq!(lines(text), [1]);
        assert_eq!(lines("/// Whatever.\n\n/// Those of `x`.\n\n// What.\n"), [3]);
    }

    #[test]
    fn a_number_must_be_the_count_and_no_more_can_be_added() {
        let told = |table: &str, docs: &str| {
            let tree = Tree::of(&[(TABLE, table), ("crates/a/src/b.rs", docs)]);
            check(&tree).into_iter().map(|issue| issue.to_string()).collect::<String>()
        };
        assert_eq!(told("crates/a 1\n", "//! What.\n"), "");
        assert!(told("", "//! What.\n").starts_with("crates/a/src/b.rs:1: name the thing"));
        let two = told("crates/a 1\n", "//! What.\n\n/// Whether.\n");
        assert!(
            two.starts_with("crates/a: 2 docs") && two.ends_with("at most 1: none is added"),
            "{two}"
        );
        assert!(
            told("crates/a 2\n", "//! What.\n")
                .ends_with("lower the number of `crates/a` from 2 to 1")
        );
    }
}
