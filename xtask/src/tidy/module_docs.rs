//! Every module says in its first line what it is for; a crate's root may say it with its README.

use crate::tidy::{Issue, tree::Tree};

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let bare = tree.rust().filter(|(_, text)| !is_documented(text));
    bare.map(|(path, _)| Issue::new(path, 1, "say in a first line `//! …` what the file is for"))
        .collect()
}

fn is_documented(text: &str) -> bool {
    let first = text.lines().next().unwrap_or_default();
    let says_something = first.strip_prefix("//!").is_some_and(|words| !words.trim().is_empty());
    says_something || first.starts_with("#![doc = include_str!(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_of_documentation_or_a_readme_passes() {
        let readme = "#![doc = include_str!(\"../README.md\")]\n";
        assert_eq!(
            check(&Tree::of(&[("a.rs", "//! What it is.\nfn f() {}\n"), ("lib.rs", readme)])),
            []
        );
    }

    #[test]
    fn code_an_empty_comment_and_an_empty_file_are_found() {
        let tree = Tree::of(&[
            ("a.rs", "use std::fs;\n//! Late.\n"),
            ("b.rs", "//!\n"),
            ("c.rs", ""),
            ("d.rs", "// Not doc.\n"),
        ]);
        assert_eq!(check(&tree).len(), 4);
    }
}
