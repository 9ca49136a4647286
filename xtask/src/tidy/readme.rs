//! The README shows the two commands that a newcomer runs, as they are.

use crate::tidy::{Issue, tree::Tree};

/// Train the example; run the checks.
pub(super) const COMMANDS: [&str; 2] = ["cargo run --release --example digits", "cargo xtask ci"];

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let lines = tree.text("README.md").unwrap_or_default().lines();
    let lines: Vec<_> = lines.map(str::trim).collect();
    let missing =
        COMMANDS.iter().filter(|command| !lines.iter().any(|line| line.starts_with(**command)));
    missing
        .map(|command| Issue::new("README.md", 0, format!("show `{command}` on a line of its own")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_commands_on_lines_of_their_own_pass() {
        let text = "# Binade\n\n```sh\ncargo run --release --example digits   # trains\ncargo xtask ci\n```\n";
        assert_eq!(check(&Tree::of(&[("README.md", text)])), []);
    }

    #[test]
    fn a_command_that_is_missing_or_only_mentioned_is_found() {
        assert_eq!(check(&Tree::of(&[("README.md", "run cargo xtask ci\n")])).len(), 2);
        assert_eq!(check(&Tree::of(&[])).len(), 2);
    }
}
