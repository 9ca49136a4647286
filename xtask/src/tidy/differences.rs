//! Every row of the pages of differences and of torch's facts names a test that is there, so that no page can outlive what
//! it says.

use crate::tidy::{Issue, code, tree::Tree};

/// The page. A row's last cell links a file and names tests of it, or sections of its doc tests, in backticks.
pub(super) const PAGE: &str = "docs/differences.md";
/// The page of torch's facts, of which a replay makes sure that none is missing.
const FACTS: &str = "docs/semantics.md";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    if rows(tree.text(PAGE).unwrap_or_default()).next().is_none() {
        return vec![Issue::new(PAGE, 0, "list in tables what differs on purpose")];
    }
    let pages = [PAGE, FACTS].into_iter();
    let rows = pages.flat_map(|page| {
        rows(tree.text(page).unwrap_or_default()).map(move |(line, row)| (page, line, row))
    });
    rows.flat_map(|(page, line, row)| breaches(tree, page, line, row)).collect()
}

/// Numbered rows of the tables, without headings.
fn rows(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<_> = page.lines().map(str::trim).collect();
    let is_rule = |line: &str| line.starts_with("|--");
    let is_heading = move |index: usize| lines.get(index + 1).is_some_and(|next| is_rule(next));
    let numbered = page.lines().map(str::trim).enumerate();
    numbered
        .filter(move |&(index, line)| line.starts_with('|') && !is_rule(line) && !is_heading(index))
        .map(|(index, line)| (index + 1, line))
}

fn breaches(tree: &Tree, page: &'static str, line: usize, row: &str) -> Vec<Issue> {
    let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
    let tests: Vec<_> = tests(cell).collect();
    if tests.is_empty() {
        let how = "name in the last cell the test that pins it: `[crate, file](../path) `test``";
        return vec![Issue::new(page, line, how)];
    }
    let missing = tests.into_iter().filter(|(file, name)| {
        let holds = |text| is_test(text, name) || is_listed(text, name) || is_section(text, name);
        !tree.text(file).is_some_and(holds)
    });
    missing
        .map(|(file, name)| Issue::new(page, line, format!("`{file}` has no test `{name}`")))
        .collect()
}

/// Every file that `cell` links, from the root, with each name that follows in backticks.
fn tests(cell: &str) -> impl Iterator<Item = (&str, &str)> {
    let files = cell.split("](../").skip(1).filter_map(|link| link.split_once(')'));
    files.flat_map(|(file, after)| {
        let names = after.split('[').next().unwrap_or_default();
        names.split('`').skip(1).step_by(2).map(move |name| (file, name))
    })
}

/// Whether `#[test]` stands above a function of this name, and nothing but other attributes between.
fn is_test(text: &str, name: &str) -> bool {
    let code = code::only(text);
    let lines: Vec<_> = code.lines().map(str::trim).collect();
    let head = format!("fn {name}(");
    lines.iter().enumerate().filter(|(_, line)| line.starts_with(&head)).any(|(index, _)| {
        let above = lines[..index].iter().rev();
        above.take_while(|line| line.is_empty() || line.starts_with("#[")).any(|l| *l == "#[test]")
    })
}

/// Whether a function of this name is in a list of tests that run on a device, as `tests![a, b];` has them.
fn is_listed(text: &str, name: &str) -> bool {
    let code = code::only(text);
    let lists = code.split("tests![").skip(1).filter_map(|rest| rest.split(']').next());
    let mut names = lists.flat_map(|list| list.split(',').map(str::trim));
    names.any(|listed| listed == name) && code.contains(&format!("fn {name}("))
}

/// Whether the module's documentation has a section of this name, as the orders that do not compile have.
fn is_section(text: &str, name: &str) -> bool {
    text.lines().any(|line| line.strip_prefix("//! # ") == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! # Twice\n\n#[test]\n#[cfg(unix)]\nfn holds() {}\n\nfn helper() {}\n// #[test]\nfn gone() {}\n";

    fn told(cell: &str) -> Vec<Issue> {
        let page = format!("| they | we | test |\n|---|---|---|\n| a | b | {cell} |\n");
        check(&Tree::of(&[(PAGE, &page), ("a/tests/b.rs", SOURCE)]))
    }

    #[test]
    fn a_row_with_a_test_or_a_section_that_is_there_passes() {
        assert_eq!(told("[a, b](../a/tests/b.rs) `holds`"), []);
        assert_eq!(
            told("[a, b](../a/tests/b.rs) `holds`, `Twice`; [b](../a/tests/b.rs) `holds`"),
            []
        );
    }

    #[test]
    fn a_row_with_a_test_in_a_devices_list_passes() {
        let page = |name: &str| {
            format!("| they | we | test |\n|---|---|---|\n| a | b | [a](../a/b.rs) `{name}` |\n")
        };
        let source = "tests![\n    one,\n    gone,\n];\nfn one() {}\nfn other() {}\n";
        let found = |name| check(&Tree::of(&[(PAGE, &page(name)), ("a/b.rs", source)])).len();
        assert_eq!(["one", "gone", "other"].map(found), [0, 1, 1]);
    }

    #[test]
    fn a_test_that_is_not_there_or_none_any_more_is_found_with_its_line() {
        for name in ["renamed", "helper", "gone", "hold"] {
            let issue = Issue::new(PAGE, 3, format!("`a/tests/b.rs` has no test `{name}`"));
            assert_eq!(told(&format!("[a, b](../a/tests/b.rs) `holds`, `{name}`")), [issue]);
        }
        assert_eq!(told("[a, b](../a/tests/c.rs) `holds`").len(), 1);
    }

    #[test]
    fn a_fact_whose_test_is_not_there_is_found_too() {
        let differ =
            "| they | we | test |\n|---|---|---|\n| a | b | [a](../a/tests/b.rs) `holds` |\n";
        let facts = differ.replace("holds", "held");
        let tree = Tree::of(&[(PAGE, differ), (FACTS, &facts), ("a/tests/b.rs", SOURCE)]);
        let issue = Issue::new(FACTS, 3, "`a/tests/b.rs` has no test `held`");
        assert_eq!(check(&tree), [issue]);
    }

    #[test]
    fn a_row_without_a_test_and_a_page_without_rows_are_found() {
        assert_eq!(told("nobody knows").len(), 1);
        assert_eq!(told("[a, b](../a/tests/b.rs)").len(), 1);
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
