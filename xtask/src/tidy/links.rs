//! Links in Markdown lead to files, their anchors to headings, and every page of the book stands in its summary.

use std::collections::BTreeMap;

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use crate::{files::resolve, issue::Issue, tidy::tree::Tree};

/// The folder of the book, and the page that lists its others.
const BOOK: &str = "docs/";
const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Issue> {
    let pages: BTreeMap<_, _> =
        tree.with(&["md"]).map(|(path, text)| (path, anchors(text))).collect();
    let listed = links(tree.text(SUMMARY).unwrap_or_default());
    let mut issues = Vec::new();
    for (path, text) in tree.with(&["md"]) {
        issues.extend(links(text).into_iter().filter_map(|(start, link)| {
            let why = leads_nowhere(tree, &pages, path, &link)?;
            let at = text[..start].matches('\n').count() + 1;
            Some(Issue::new(path, at, format!("`{link}`: {why}")))
        }));
        let page = path.strip_prefix(BOOK).filter(|_| path != SUMMARY);
        if page.is_some_and(|page| listed.iter().all(|(_, link)| link != page)) {
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
    // Addresses on the net are not tried, and rustdoc checks its own links to items.
    let scheme = link.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|it| it.chars().all(char::is_alphanumeric))
        || ["::", "@"].iter().any(|it| link.contains(it))
    {
        return None;
    }
    let (file, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
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

/// The places and the destinations of links, `[text](destination)` and `[text]: destination`.
fn links(text: &str) -> Vec<(usize, String)> {
    let parser = Parser::new(text);
    let definitions = parser.reference_definitions().iter();
    let mut found: Vec<_> =
        definitions.map(|(_, it)| (it.span.start, it.dest.to_string())).collect();
    found.extend(parser.into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(
            Tag::Link { link_type: LinkType::Inline, dest_url, .. }
            | Tag::Image { link_type: LinkType::Inline, dest_url, .. },
        ) => Some((range.start, dest_url.to_string())),
        _ => None,
    }));
    found
}

/// The anchors of the headings, with the `#`, as mdBook and the forges make them: small letters, and a hyphen for each space.
fn anchors(text: &str) -> Vec<String> {
    let (mut seen, mut anchors) = (BTreeMap::new(), Vec::new());
    let mut heading: Option<String> = None;
    for event in Parser::new(text) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::Text(words) | Event::Code(words), Some(heading)) => *heading += &words,
            (Event::End(TagEnd::Heading(_)), Some(words)) => {
                let kept = words.chars().filter(|&c| c.is_alphanumeric() || "_- ".contains(c));
                let name: String = kept.flat_map(char::to_lowercase).collect();
                let name = name.replace(' ', "-");
                let count = seen.entry(name.clone()).and_modify(|count| *count += 1).or_insert(0);
                let suffix = if *count == 0 { String::new() } else { format!("-{count}") };
                anchors.push(format!("#{name}{suffix}"));
                heading = None;
            }
            _ => {}
        }
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::told;

    #[test]
    fn links_are_found_where_they_are_no_code_and_headings_are_called_as_elsewhere() {
        let text = "é [a](b.md) and [`c`](d.md#e \"title\"), ``[f](`g)``\n\n```sh\n[h](i)\n```\n[j]: k\n\n[m][j] ![n](o)\n";
        let mut found: Vec<_> = links(text).into_iter().map(|(_, link)| link).collect();
        found.sort();
        assert_eq!(found, ["b.md", "d.md#e", "k", "o"]);
        let text =
            "# A `b` & C, d_e\n```sh\n# no\n```\n## [Two](x.md) words\n## Same\n#no\n## Same\n";
        assert_eq!(anchors(text), ["#a-b--c-d_e", "#two-words", "#same", "#same-1"]);
    }

    #[test]
    fn links_that_lead_nowhere_are_found_with_their_line_and_others_pass() {
        let good = "# B\n[a](c.rs), [b](c.rs#L1), [c](../d.md#two-words), [d](../a/), [e](#b), [f](x::Y), [g](https://h)\n";
        let bad = "[a](gone.rs)\n[b](../d.md#three), [c](#d), [d](../../e)\n";
        let text = good.to_owned() + bad;
        let tree = Tree::of(&[("a/b.md", &text), ("a/c.rs", ""), ("d.md", "# Two words\n")]);
        let said = told(check, &tree);
        assert_eq!(said.lines().count(), 4, "{said}");
        assert!(said.contains("a/b.md:3: `gone.rs`: there is no such file\n"), "{said}");
        assert!(said.contains("a/b.md:4: `../d.md#three`: no heading is called so\n"), "{said}");
    }

    #[test]
    fn a_page_that_the_summary_leaves_out_is_found_and_one_that_is_not_the_books() {
        let pages = [(SUMMARY, "[a](src/a.md)\n"), ("docs/b.md", ""), ("e.md", "")];
        let pages = [&pages[..], &[("docs/src/a.md", "[e](../../e.md)")]].concat();
        let said = told(check, &Tree::of(&pages));
        assert!(
            said.starts_with("docs/b.md: list this") && said.contains("docs/src/a.md:1: "),
            "{said}"
        );
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}
