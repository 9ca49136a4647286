//! Which file of the repository each chapter's text stands in, and which page of the book it becomes.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::Value;

use crate::{
    Result,
    book::{
        BUILT,
        markdown::{self, resolve},
    },
};

/// Where chapters are, from the root.
const SOURCES: &str = "docs/src";

/// Every chapter's page by the file its text stands in, both with `/`: that from the root, this from the book's front page.
#[derive(Default)]
pub(super) struct Pages(BTreeMap<String, String>);

impl Pages {
    /// Of the chapters in `items`, and of those below them.
    pub(super) fn of(items: &[Value]) -> Result<Self> {
        let mut pages = Self::default();
        pages.add(items)?;
        Ok(pages)
    }

    fn add(&mut self, items: &[Value]) -> Result<()> {
        for chapter in items.iter().filter_map(|item| item.get("Chapter")) {
            // A draft has no path, and no page either.
            if let (Some(path), Some(text)) =
                (chapter["path"].as_str(), chapter["content"].as_str())
            {
                self.0.insert(home(path, text)?, page(path));
            }
            self.add(chapter["sub_items"].as_array().map_or(&[], Vec::as_slice))?;
        }
        Ok(())
    }

    /// The text of the chapter at `path`, all of its links made the book's. `forge` is where files of the repository are shown;
    /// without it, links that leave the book lead into the checkout it was built in.
    pub(super) fn text(
        &self,
        root: &Path,
        path: &str,
        text: &str,
        forge: Option<&str>,
    ) -> Result<String> {
        let home = home(path, text)?;
        let text = match included(text) {
            Some(_) => fs::read_to_string(root.join(&home))?,
            None => text.to_owned(),
        };
        Ok(markdown::with_links(&text, |link| self.link(&home, path, link, forge)))
    }

    /// What `link` is in the book, if it is another: one that stands in the file `home`, and is read on the page of `path`.
    fn link(&self, home: &str, path: &str, link: &str, forge: Option<&str>) -> Option<String> {
        let (file, anchor) = markdown::parts(link)?;
        if file.is_empty() {
            return None;
        }
        let target = resolve(home, file)?;
        let up = "../".repeat(path.matches('/').count());
        Some(match (self.0.get(&target), forge) {
            (Some(page), _) => format!("{up}{page}{anchor}"),
            (None, Some(forge)) => format!("{}/{target}{anchor}", forge.trim_end_matches('/')),
            (None, None) => format!("{up}{}{}{anchor}", out_of_the_book(), as_it_is(&target)),
        })
    }
}

/// The file in which the text of the chapter at `path` stands: its own, or the one that it includes and nothing besides.
fn home(path: &str, text: &str) -> Result<String> {
    let own = format!("{SOURCES}/{path}");
    match included(text) {
        None => Ok(own),
        Some(file) => resolve(&own, file)
            .ok_or_else(|| format!("{own} includes {file}, which is out of the repository").into()),
    }
}

/// The file that is all that `text` is made of.
fn included(text: &str) -> Option<&str> {
    text.trim().strip_prefix("{{#include ")?.strip_suffix("}}").map(str::trim)
}

/// The page of the chapter at `path`, with the extension that mdBook replaces. A folder's README is its index.
fn page(path: &str) -> String {
    match path.strip_suffix("README.md") {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => format!("{folder}index.md"),
        _ => path.to_owned(),
    }
}

/// From the book's front page to the root.
fn out_of_the_book() -> String {
    "../".repeat(BUILT.split('/').count())
}

/// mdBook makes `.html` of each relative link's `.md`, which is wrong for what is not in the book.
fn as_it_is(target: &str) -> String {
    target.strip_suffix(".md").map_or_else(|| target.to_owned(), |name| format!("{name}%2Emd"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;
    use serde_json::json;

    fn pages() -> Pages {
        let chapter = |path: &str, text: &str, below: Value| json!({ "Chapter": { "path": path, "content": text, "sub_items": below } });
        let inner = chapter("a/b.md", "", json!([]));
        let items = [
            chapter("README.md", "", json!([])),
            json!("Separator"),
            chapter("a/README.md", "", json!([inner])),
            chapter("c.md", "{{#include ../c.md}}\n", json!([])),
        ];
        Pages::of(&items).unwrap()
    }

    #[test]
    fn a_link_between_chapters_leads_from_page_to_page() {
        let links = [
            ("docs/src/a/b.md", "a/b.md", "README.md#x", "../a/index.md#x"),
            ("docs/src/a/b.md", "a/b.md", "../../c.md", "../c.md"),
            ("docs/c.md", "c.md", "src/a/b.md", "a/b.md"),
            ("docs/src/a/README.md", "a/README.md", "../README.md", "../index.md"),
        ];
        for (home, path, link, wanted) in links {
            assert_eq!(pages().link(home, path, link, None).unwrap(), wanted, "{link}");
        }
    }

    #[test]
    fn a_link_that_leaves_the_book_leads_into_the_checkout_or_to_the_forge() {
        let link = |link, forge| pages().link("docs/src/a/b.md", "a/b.md", link, forge).unwrap();
        let (file, page) = ("../../../xtask/src/main.rs", "../../../README.md#a");
        assert_eq!(link(file, None), "../../../xtask/src/main.rs");
        assert_eq!(link(page, None), "../../../README%2Emd#a");
        assert_eq!(link(page, Some("https://forge/tree/")), "https://forge/tree/README.md#a");
    }

    #[test]
    fn what_is_no_file_stays_as_it_is() {
        for link in ["#here", "https://a.b/c.md", "mailto:a@b.c", "../../../../../outside"] {
            assert_eq!(pages().link("docs/src/a/b.md", "a/b.md", link, None), None, "{link}");
        }
    }

    #[test]
    fn an_included_file_is_read_and_its_links_are_seen_from_where_it_stands() {
        let text =
            pages().text(&root(), "contracts.md", "{{#include ../contracts.md}}\n", None).unwrap();
        assert!(text.starts_with("# Contracts"));
        assert!(text.contains("](../../crates/binade-conformance/README%2Emd)"));
    }
}
