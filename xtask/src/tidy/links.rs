//! Links in Markdown lead to files, their anchors to headings, and every page of the book stands in its summary.

use std::collections::BTreeMap;

use crate::tidy::{
    Issue,
    markdown::{anchors, links, parts, resolve},
    tree::Tree,
};

/// The folder of the book, and the page that lists its others.
const BOOK: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let pages: BTreeMap<_, _> =
        tree.with(&["md"]).map(|(path, text)| (path, anchors(text))).collect();
    let summary = tree.text(SUMMARY).unwrap_or_default();
    let listed: Vec<_> = links(summary).into_iter().map(|place| &summary[place]).collect();
    let mut issues = Vec::new();
    for (path, text) in tree.with(&["md"]) {
        issues.extend(links(text).into_iter().filter_map(|place| {
            let link = &text[place.clone()];
            let why = leads_nowhere(tree, &pages, path, link)?;
            let at = text[..place.start].matches('\n').count() + 1;
            Some(Issue::new(path, at, format!("`{link}`: {why}")))
        }));
        let page = path.strip_prefix(BOOK).filter(|_| path != SUMMARY);
        if page.is_some_and(|page| !listed.contains(&page)) {
            issues.push(Issue::new(path, 0, format!("list this page in {SUMMARY}")));
        }
    }
    issues
}

/// Returns what is wrong with a link in the file `path`; `pages` are all of them with their anchors.
fn leads_nowhere(
    tree: &Tree,
    pages: &BTreeMap<&str, Vec<String>>,
    path: &str,
    link: &str,
) -> Option<&'static str> {
    // rustdoc checks its own links to items.
    let (file, anchor) = parts(link).filter(|(file, _)| !file.contains("::"))?;
    let Some(target) = (if file.is_empty() { Some(path.to_owned()) } else { resolve(path, file) })
    else {
        return Some("it leads out of the repository");
    };
    if !tree.has(&target) {
        return Some("there is no such file");
    }
    let page = pages.get(target.as_str());
    if path.starts_with(BOOK) && !target.starts_with(BOOK) && page.is_some() {
        return Some("mdBook takes it for a page of the book: link to its folder");
    }
    let is_known =
        anchor.is_empty() || page.is_none_or(|anchors| anchors.iter().any(|it| it == anchor));
    (!is_known).then_some("no heading is called so")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line_and_others_pass() {
        let good = "# B\n[a](c.rs), [b](c.rs#L1), [c](../d.md#two-words), [d](../a/), [e](#b), [f](x::Y), [g](https://h)\n";
        let bad = "[a](gone.rs)\n[b](../d.md#three), [c](#d), [d](../../e)\n";
        let text = good.to_owned() + bad;
        let tree = Tree::of(&[("a/b.md", &text), ("a/c.rs", ""), ("d.md", "# Two words\n")]);
        let found: Vec<_> =
            check(&tree).into_iter().map(|issue| (issue.line, issue.message)).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!(found[0], (3, "`gone.rs`: there is no such file".into()));
        assert_eq!(found[1], (4, "`../d.md#three`: no heading is called so".into()));
    }

    #[test]
    fn a_page_that_the_summary_leaves_out_is_found() {
        let pages = [
            (SUMMARY, "[a](src/a.md)\n"),
            ("docs/src/a.md", "[e](../../e.md)"),
            ("docs/b.md", ""),
            ("e.md", ""),
        ];
        let paths: Vec<_> = check(&Tree::of(&pages)).into_iter().map(|issue| issue.path).collect();
        assert_eq!(
            paths,
            ["docs/b.md", "docs/src/a.md"],
            "nor is a page that is not the book's linked"
        );
    }
}
