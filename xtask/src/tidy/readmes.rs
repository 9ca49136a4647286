//! A crate's README is its documentation: one text, seen on the registry and in the docs, its examples run as doc tests. The
//! repository's own shows the two commands that a newcomer runs.

use crate::{
    issue::Issue,
    tidy::tree::{Package, Tree},
};

const INCLUDE: &str = "#![doc = include_str!(\"../README.md\")]";

/// Trains the example; runs the checks.
const COMMANDS: [&str; 2] = ["cargo run --release --example digits", "cargo xtask ci"];

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let front = tree.text("README.md").unwrap_or_default();
    let shows = |it: &&str| front.lines().any(|line| line.trim().starts_with(it));
    let missing = COMMANDS.iter().filter(|it| !shows(it));
    let missing =
        missing.map(|it| Issue::new("README.md", 0, format!("show `{it}` on its own line")));
    let crates = tree.packages.iter().filter(|package| package.is_crate());
    missing.chain(crates.flat_map(|package| of_crate(tree, package))).collect()
}

fn of_crate(tree: &Tree, package: &Package) -> Vec<Issue> {
    let [page, root] = ["README.md", "src/lib.rs"].map(|it| format!("{}/{it}", package.folder));
    let text = tree.text(&page).unwrap_or_default();
    let depend = format!("{0} = {{ path = \"../binade/crates/{0}\" }}", package.name);
    let is_published = package.data["publish"].as_array().is_none_or(|it| !it.is_empty());
    let mut issues = Vec::new();
    if !text.starts_with("# ") || !text.trim().contains('\n') {
        issues.push(Issue::new(&page, 1, "write the crate's page: its name, and what it is for"));
    } else if is_published && !text.lines().any(|line| line == depend) {
        issues.push(Issue::new(&page, 0, format!("show how to depend on it: `{depend}`")));
    }
    if !tree.text(&root).unwrap_or_default().lines().any(|line| line == INCLUDE) {
        let message = format!("show the README as the crate's page: `{INCLUDE}`");
        issues.push(Issue::new(root, 1, message));
    }
    let why = "a link out of the crate's folder leads nowhere on docs.rs: link to https://docs.rs/NAME, or name the file";
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains("](../"));
    issues.extend(lines.map(|(index, _)| Issue::new(&page, index + 1, why)));
    issues
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_readme_that_is_its_crates_page_passes_and_each_part_is_missed() {
        let page = "# a\n\nIts use.\n\na = { path = \"../binade/crates/a\" }\n";
        let told = |front: &str, page: &str, root: &str| {
            let files =
                [("README.md", front), ("crates/a/README.md", page), ("crates/a/src/lib.rs", root)];
            let data = json!({ "name": "a", "manifest_path": "crates/a/Cargo.toml" });
            let packages = vec![Package::of(data, &json!(null))];
            let issues = check(&Tree { packages, ..Tree::of(&files) });
            issues.into_iter().map(|issue| issue.message).collect::<String>()
        };
        let front = COMMANDS.join("\n");
        assert_eq!(told(&front, page, INCLUDE), "");
        assert!(told("run cargo xtask ci\n", page, INCLUDE).contains("on its own line"));
        assert!(told(&front, page, "").starts_with("show the README"));
        assert!(told(&front, "# a\n", INCLUDE).starts_with("write the crate's page"));
        assert!(told(&front, "# a\n\nIts use.\n", INCLUDE).starts_with("show how to depend"));
        assert!(told(&front, &format!("{page}[c](../c)\n"), INCLUDE).starts_with("a link out"));
    }
}
