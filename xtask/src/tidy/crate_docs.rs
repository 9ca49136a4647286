//! A crate's README is its documentation: one text, seen on the registry and in the docs, its examples run as doc tests.

use crate::tidy::{Issue, package::Package, tree::Tree};

const INCLUDE: &str = "#![doc = include_str!(\"../README.md\")]";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let crates = tree.packages().iter().filter(|package| package.is_crate());
    crates.flat_map(|package| check_crate(tree, package)).collect()
}

fn check_crate(tree: &Tree, package: &Package) -> Vec<Issue> {
    let at = |file: &str| format!("{}/{file}", package.folder());
    let has = |file: &str, wanted: fn(&str) -> bool| tree.text(&at(file)).is_some_and(wanted);
    let mut issues = Vec::new();
    if !has("README.md", is_page) {
        issues.push(Issue::new(
            at("README.md"),
            1,
            "write the crate's page: its name, and what it is for",
        ));
    } else if let Some(line) = missing_dependency(tree, package) {
        issues.push(Issue::new(at("README.md"), 0, format!("show how to depend on it: `{line}`")));
    }
    if !has("src/lib.rs", |text| text.lines().any(|line| line == INCLUDE)) {
        issues.push(Issue::new(
            at("src/lib.rs"),
            1,
            format!("show the README as the crate's page: `{INCLUDE}`"),
        ));
    }
    if !has("Cargo.toml", |text| text.lines().any(|line| line == "readme = \"README.md\"")) {
        issues.push(Issue::new(at("Cargo.toml"), 0, "write `readme = \"README.md\"`"));
    }
    let page = tree.text(&at("README.md")).unwrap_or_default();
    issues.extend(leading_out(page).map(|line| {
        let message = "a link out of the crate's folder leads nowhere on docs.rs: link to https://docs.rs/NAME, or name the file \
                       without a link";
        Issue::new(at("README.md"), line, message)
    }));
    issues
}

/// Lines with a link to what is not published with the crate.
fn leading_out(page: &str) -> impl Iterator<Item = usize> {
    page.lines().enumerate().filter(|(_, line)| line.contains("](../")).map(|(i, _)| i + 1)
}

/// The line by which another crate depends on this one, where the page of a crate that is published does not show it.
fn missing_dependency(tree: &Tree, package: &Package) -> Option<String> {
    let text = |file: &str| tree.text(&format!("{}/{file}", package.folder())).unwrap_or_default();
    let line = format!("{0} = {{ path = \"../binade/crates/{0}\" }}", package.name);
    let is_published = !text("Cargo.toml").lines().any(|line| line == "publish = false");
    (is_published && !text("README.md").lines().any(|shown| shown == line)).then_some(line)
}

/// A heading, and words below it.
fn is_page(text: &str) -> bool {
    text.starts_with("# ") && text.lines().skip(1).any(|line| !line.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: [(&str, &str); 3] = [
        ("crates/a/Cargo.toml", "readme = \"README.md\"\n"),
        ("crates/a/README.md", "# a\n\nIts use.\n\na = { path = \"../binade/crates/a\" }\n"),
        ("crates/a/src/lib.rs", "#![doc = include_str!(\"../README.md\")]\n"),
    ];

    fn issues(files: &[(&str, &str)]) -> usize {
        check(&Tree::of(files).with("a", "crates/a", &[], &[])).len()
    }

    #[test]
    fn a_crate_whose_readme_is_its_page_passes() {
        assert_eq!(issues(&GOOD), 0);
    }

    #[test]
    fn each_of_the_three_is_missed_when_it_is_not_there() {
        for missing in 0..GOOD.len() {
            let files: Vec<_> = GOOD
                .into_iter()
                .enumerate()
                .filter(|(index, _)| *index != missing)
                .map(|(_, file)| file)
                .collect();
            assert_eq!(issues(&files), 1, "{missing}");
        }
    }

    #[test]
    fn a_link_out_of_the_crates_folder_is_found_where_it_stands() {
        let page = "# a\n\nOf [b](https://docs.rs/b), by [rules](src/rules.rs).\nSee [c](../c), [d](../../docs/d.md).\n\na = { path = \"../binade/crates/a\" }\n";
        assert_eq!(leading_out(page).collect::<Vec<_>>(), [4]);
        assert_eq!(issues(&[GOOD[0], ("crates/a/README.md", page), GOOD[2]]), 1);
    }

    #[test]
    fn a_page_that_does_not_say_how_to_depend_on_its_crate_is_found() {
        let mut files = GOOD;
        files[1].1 = "# a\n\nWhat it is for.\n";
        assert_eq!(issues(&files), 1);
        files[0].1 = "readme = \"README.md\"\npublish = false\n";
        assert_eq!(issues(&files), 0, "nobody depends on it");
    }

    #[test]
    fn a_heading_alone_is_no_page() {
        assert!(!is_page("# a\n\n"));
        assert!(!is_page("What it is for.\n"));
    }

    #[test]
    fn an_example_needs_no_readme() {
        assert_eq!(check(&Tree::of(&[]).with("digits", "examples/digits", &[], &[])), []);
    }
}
