//! No file above 400 lines: one that long hides an idea that has no name yet.

use crate::tidy::{
    Issue,
    tree::{Tree, has_extension},
};

const MOST: usize = 400;

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let sources =
        tree.files().filter(|(path, _)| has_extension(path, &["rs", "cu", "cuh", "wgsl"]));
    let long =
        sources.map(|(path, text)| (path, text.lines().count())).filter(|(_, lines)| *lines > MOST);
    long.map(|(path, lines)| {
        Issue::new(path, lines, format!("{lines} lines, at most {MOST}: divide it by ideas"))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_too_many_is_found_and_the_last_allowed_one_is_not() {
        let (good, bad) = ("\n".repeat(MOST), "\n".repeat(MOST + 1));
        let tree = Tree::of(&[
            ("a.rs", &good),
            ("b.rs", &bad),
            ("c.wgsl", &bad),
            ("d.cu", &bad),
            ("e.md", &bad),
        ]);
        let found: Vec<_> = check(&tree).into_iter().map(|issue| issue.path).collect();
        assert_eq!(found, ["b.rs", "c.wgsl", "d.cu"]);
    }
}
