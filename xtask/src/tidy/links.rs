//! Links in Markdown lead to files, their anchors to headings, and every page of the book stands in its summary.

use crate::{
    book::markdown::{anchors, links, parts, resolve},
    tidy::{
        Issue,
        tree::{Tree, has_extension},
    },
};

/// The pages of the book, and the one that lists them.
const PAGES: &str = "docs/src/";
const SUMMARY: &str = "docs/src/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let pages = || tree.files().filter(|(path, _)| has_extension(path, &["md"]));
    let broken = pages().flat_map(|(path, text)| broken(tree, path, text));
    let unlisted = pages().filter(|(path, _)| !is_listed(tree, path));
    let advice = format!("list this page in {SUMMARY}");
    let unlisted = unlisted.map(|(path, _)| Issue::new(path, 0, advice.clone()));
    broken.chain(unlisted).collect()
}

/// What leads nowhere in `text`, which stands at `path`.
fn broken(tree: &Tree, path: &str, text: &str) -> Vec<Issue> {
    let links = links(text).into_iter().filter_map(|place| {
        let link = &text[place.clone()];
        let why = leads_nowhere(tree, path, text, link)?;
        let at = text[..place.start].matches('\n').count() + 1;
        Some(Issue::new(path, at, format!("`{link}`: {why}")))
    });
    links.collect()
}

fn leads_nowhere(tree: &Tree, path: &str, text: &str, link: &str) -> Option<&'static str> {
    let (file, anchor) = parts(link)?;
    // rustdoc's links to items, which rustdoc checks.
    if file.contains("::") {
        return None;
    }
    let there = match file {
        "" => Some(text),
        file => {
            let Some(target) = resolve(path, file) else {
                return Some("it leads out of the repository");
            };
            if !tree.has(&target) {
                return Some("there is no such file");
            }
            tree.text(&target).filter(|_| has_extension(&target, &["md"]))
        }
    };
    let known =
        anchor.is_empty() || there.is_none_or(|text| anchors(text).iter().any(|a| a == anchor));
    (!known).then_some("no heading is called so")
}

/// Whether the page at `path`, if it is the book's, has a line in its summary.
fn is_listed(tree: &Tree, path: &str) -> bool {
    let Some(page) = path.strip_prefix(PAGES).filter(|_| path != SUMMARY) else {
        return true;
    };
    let summary = tree.text(SUMMARY).unwrap_or_default();
    links(summary).into_iter().any(|place| &summary[place] == page)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(page: &str) -> Vec<(usize, String)> {
        let tree =
            Tree::of(&[("a/b.md", page), ("a/c.rs", "//! Code.\n"), ("d.md", "# Two words\n")]);
        check(&tree).into_iter().map(|issue| (issue.line, issue.message)).collect()
    }

    #[test]
    fn links_to_files_folders_headings_and_items_pass() {
        let page = "# B\n[a](c.rs), [b](c.rs#L1), [c](../d.md#two-words), [d](../a/), [e](#b), [f](x::Y), [g](https://h)\n";
        assert_eq!(told(page), []);
    }

    #[test]
    fn what_leads_nowhere_is_found_with_its_line() {
        let found = told("# B\n\n[a](gone.rs)\n[b](../d.md#three), [c](#d)\n");
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], (3, "`gone.rs`: there is no such file".into()));
        assert_eq!(found[1], (4, "`../d.md#three`: no heading is called so".into()));
    }

    #[test]
    fn a_page_that_the_summary_leaves_out_is_found() {
        let listed = "[a](a.md)\n- [b](c/b.md)\n";
        let tree = |summary| {
            Tree::of(&[(SUMMARY, summary), ("docs/src/a.md", ""), ("docs/src/c/b.md", "")])
        };
        assert_eq!(check(&tree(listed)), []);
        let found = check(&tree("[a](a.md)\n"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "docs/src/c/b.md");
    }
}
