//! Nothing is left for later without a word: no `todo!`, no `unimplemented!`, no ignored test without a reason.

use crate::tidy::{Issue, code, tree::Tree};

/// What is looked for in code, and what to do instead.
const LEFTOVERS: [(&str, &str); 3] = [
    ("todo!", "finish it, or return an error that says `Unsupported`"),
    ("unimplemented!", "return an error that says `Unsupported`"),
    ("#[ignore]", "give the reason: `#[ignore = \"…\"]`"),
];

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    tree.rust().flat_map(|(path, text)| leftovers(path, text)).collect()
}

fn leftovers(path: &str, text: &str) -> Vec<Issue> {
    let code = code::only(text);
    let found = LEFTOVERS.iter().flat_map(|(word, instead)| {
        code::lines_with(&code, word).map(move |line| (line, word, instead))
    });
    found
        .map(|(line, word, instead)| Issue::new(path, line, format!("`{word}`: {instead}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_leftover_is_found_with_its_line() {
        let text = "fn f() { todo!() }\nfn g() {\n    unimplemented!(\"later\")\n}\n#[ignore]\n#[test]\nfn h() {}\n";
        let lines: Vec<_> =
            check(&Tree::of(&[("a.rs", text)])).into_iter().map(|issue| issue.line).collect();
        assert_eq!(lines, [1, 3, 5]);
    }

    #[test]
    fn a_reason_a_comment_and_a_string_pass() {
        let text = "#[ignore = \"takes an hour\"]\n// todo!()\nconst S: &str = \"unimplemented!\";\nfn mytodo!() {}\n";
        assert_eq!(check(&Tree::of(&[("a.rs", text)])), []);
    }
}
