//! No path of somebody's machine, in any text of the repository: it works there and nowhere else.

use crate::tidy::{Issue, tree::Tree};

/// First folders of such paths, without the slashes, so that this file does not hold what it looks for.
const FOLDERS: [&str; 6] = ["Users", "home", "mnt", "root", "tmp", "work"];

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    tree.files().flat_map(|(path, text)| paths(path, text)).collect()
}

fn paths(path: &str, text: &str) -> Vec<Issue> {
    let lines =
        text.lines().enumerate().filter_map(|(index, line)| Some((index + 1, machine_path(line)?)));
    lines
        .map(|(line, found)| {
            Issue::new(
                path,
                line,
                format!("`{found}`: take it from the root, an argument or a variable"),
            )
        })
        .collect()
}

/// The start of the first path on `line` that only one machine has.
fn machine_path(line: &str) -> Option<String> {
    FOLDERS.iter().map(|folder| format!("/{folder}/")).find(|start| {
        // What comes before tells a path's start from the middle of a longer path or of an address.
        let is_middle = |c: char| c.is_alphanumeric() || "_-./}*~:)".contains(c);
        line.match_indices(start.as_str()).any(|(at, _)| !line[..at].ends_with(is_middle))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> usize {
        check(&Tree::of(&[("a.md", line)])).len()
    }

    #[test]
    fn a_path_of_a_machine_is_found_wherever_it_stands() {
        for folder in FOLDERS {
            for line in [
                format!("/{folder}/x"),
                format!("cd /{folder}/x"),
                format!("P=\"/{folder}/x\""),
                format!("(/{folder}/x)"),
            ] {
                assert_eq!(found(&line), 1, "{line}");
            }
        }
    }

    #[test]
    fn paths_from_the_root_addresses_and_relative_ones_pass() {
        for start in ["target", "..", ".", "https://example.org", "$ROOT", "~"] {
            let line = format!("{start}/{}/x", FOLDERS[3]);
            assert_eq!(found(&line), 0, "{line}");
        }
    }
}
