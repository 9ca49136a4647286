//! What mdBook asks for the text of chapters: it writes `[context, book]` as JSON and reads the book again.
//!
//! The protocol is mdBook 0.5's, <https://rust-lang.github.io/mdBook/for_developers/preprocessors.html>.

use std::{
    io::{stdin, stdout},
    path::Path,
};

use clap::Args;
use serde_json::Value;

use crate::{Result, book::pages::Pages, shell::root};

#[derive(Args)]
pub(crate) struct Preprocess {
    /// `supports RENDERER` asks whether there is something to do for that renderer, and is told by the exit status.
    #[arg(value_name = "WORD")]
    words: Vec<String>,
}

impl Preprocess {
    pub(crate) fn run(self) -> Result<()> {
        match self.words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => {
                let book = processed(&root(), serde_json::from_reader(stdin().lock())?)?;
                Ok(serde_json::to_writer(stdout().lock(), &book)?)
            }
            ["supports", "html"] => Ok(()),
            _ => Err("only a book in HTML has links to look after".into()),
        }
    }
}

/// The book of `[context, book]`, with every link made the book's.
fn processed(root: &Path, mut input: Value) -> Result<Value> {
    let forge = input[0]["config"]["preprocessor"]["repository"]["forge"].take();
    let mut book = input[1].take();
    let items = book["items"].as_array_mut().ok_or("this is no book of mdbook 0.5 or later")?;
    let pages = Pages::of(items)?;
    rewrite(root, items, &pages, forge.as_str())?;
    Ok(book)
}

fn rewrite(root: &Path, items: &mut [Value], pages: &Pages, forge: Option<&str>) -> Result<()> {
    for chapter in items.iter_mut().filter_map(|item| item.get_mut("Chapter")) {
        if let (Some(path), Some(text)) = (chapter["path"].as_str(), chapter["content"].as_str()) {
            chapter["content"] = pages.text(root, path, text, forge)?.into();
        }
        let below = chapter["sub_items"].as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
        rewrite(root, below, pages, forge)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn links_are_rewritten_at_every_depth_and_nothing_else_is() {
        let chapter = |path: &str, text: &str, below: Value| json!({ "Chapter": { "path": path, "content": text, "sub_items": below, "number": [1] } });
        let book = |text| {
            let inner = chapter("a/b.md", text, json!([]));
            json!({ "items": [{ "PartTitle": "p" }, chapter("a/README.md", "", json!([inner]))] })
        };
        let input = json!([{ "config": {} }, book("[a](README.md) `[b](README.md)`")]);
        let wanted = book("[a](../a/index.md) `[b](README.md)`");
        assert_eq!(processed(&root(), input).unwrap(), wanted);
    }

    #[test]
    fn what_another_version_writes_is_refused() {
        let error = processed(&root(), json!([{}, { "sections": [] }])).unwrap_err();
        assert!(error.to_string().contains("mdbook 0.5"), "{error}");
    }

    #[test]
    fn html_is_supported_and_nothing_else() {
        let asked =
            |words: &[&str]| Preprocess { words: words.iter().map(ToString::to_string).collect() };
        assert!(asked(&["supports", "html"]).run().is_ok());
        assert!(asked(&["supports", "markdown"]).run().is_err());
    }
}
