//! First words of docs: a block that begins with a relative or a pronoun does not name the thing that it documents.

use regex_lite::Regex;

use crate::{
    issue::{Issue, regex},
    tidy::tree::Tree,
};

/// A line of docs, and its first words where they are bad ones.
const DOC: &str = r"^\s*//[/!]\s*((What|Whether|Those|The same|Whoever)([^A-Za-z0-9]|$))?";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let doc = regex(DOC);
    tree.with(&["rs"]).flat_map(|(path, text)| begins(&doc, path, text)).collect()
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
    fn a_planted_doc_is_refused_by_its_place() {
        let told = told(check, &Tree::of(&[("crates/a/src/b.rs", "//! What.\n")]));
        assert!(told.starts_with("crates/a/src/b.rs:1: name the thing"), "{told}");
    }
}
