//! The book as it was built: every link leads to a file, and every anchor to an element.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use crate::{Result, book::markdown};

/// What a page has to be found by, and where it leads.
#[derive(Default)]
struct Page {
    ids: BTreeSet<String>,
    links: Vec<String>,
}

/// Every page by its file.
pub(super) struct Book {
    folder: PathBuf,
    files: BTreeMap<PathBuf, Page>,
}

impl Book {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let folder = folder.canonicalize()?;
        let mut book = Self { folder: folder.clone(), files: BTreeMap::new() };
        book.walk(&folder)?;
        Ok(book)
    }

    fn walk(&mut self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                self.walk(&path)?;
            } else if path.extension().is_some_and(|extension| extension == "html") {
                let page = page(&fs::read_to_string(&path)?);
                self.files.insert(path, page);
            }
        }
        Ok(())
    }

    pub(super) fn pages(&self) -> usize {
        self.files.len()
    }

    /// How many links there are that need no network, and a line for each that leads nowhere.
    pub(super) fn check(&self) -> (usize, Vec<String>) {
        let links = self.files.iter().flat_map(|(file, page)| {
            page.links.iter().filter_map(move |link| Some((file, link, markdown::parts(link)?)))
        });
        let links: Vec<_> = links.collect();
        let broken = links.iter().filter_map(|(file, link, (path, anchor))| {
            let why = self.leads_nowhere(file, path, anchor)?;
            Some(format!(
                "{}: {link}: {why}",
                file.strip_prefix(&self.folder).unwrap_or(file).display()
            ))
        });
        (links.len(), broken.collect())
    }

    fn leads_nowhere(&self, from: &Path, path: &str, anchor: &str) -> Option<&'static str> {
        let target = match path {
            "" => from.to_owned(),
            path => from.parent()?.join(decoded(path)),
        };
        let Ok(target) = target.canonicalize() else {
            return Some("there is no such file");
        };
        let page = self.files.get(&target)?;
        let id = decoded(anchor.trim_start_matches('#'));
        (!id.is_empty() && !page.ids.contains(&id)).then_some("no element has this name")
    }
}

fn page(html: &str) -> Page {
    let ids = attributes(html, "id").map(str::to_owned).collect();
    let links = attributes(html, "href").chain(attributes(html, "src"));
    Page { ids, links: links.map(|link| link.replace("&amp;", "&")).collect() }
}

/// The values that tags give an attribute.
fn attributes<'a>(html: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let start = format!(" {name}=\"");
    let tags = html.split_inclusive('>').filter_map(|part| Some(&part[part.rfind('<')?..]));
    tags.filter_map(move |tag| {
        let value = &tag[tag.find(&start)? + start.len()..];
        value.split_once('"').map(|(value, _)| value)
    })
}

/// `text` without percent signs, as a file system or an element has it.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::{env, process};

    use super::*;

    const FRONT: &str =
        r#"<h1 id="a b">x</h1><a class="c" href="in/d.html#e">&quot; href="no"</a>"#;

    /// What is said of a book with this page in its folder `in`.
    fn check(name: &str, inner: &str) -> (usize, Vec<String>) {
        let folder = env::temp_dir().join(format!("binade-book-{}-{name}", process::id()));
        fs::create_dir_all(folder.join("in")).unwrap();
        for (file, text) in [("index.html", FRONT), ("in/d.html", inner), ("in/%.txt", "")] {
            fs::write(folder.join(file), text).unwrap();
        }
        let said = Book::read(&folder).unwrap().check();
        fs::remove_dir_all(&folder).unwrap();
        said
    }

    #[test]
    fn what_leads_somewhere_passes() {
        let inner = r##"<p id="e"><a href="../index.html#a%20b"><a href="#e"><img src="%25.txt"><a href="https://a.b">"##;
        let (links, broken) = check("whole", inner);
        assert_eq!((links, broken), (4, vec![]));
    }

    #[test]
    fn what_leads_nowhere_is_named_with_its_page() {
        let inner = r##"<a href="gone.html"><a href="../index.html#gone"><a href="#gone">"##;
        let (_, broken) = check("broken", inner);
        assert_eq!(broken.len(), 4, "{broken:#?}");
        assert!(
            broken[0].starts_with("in/d.html: gone.html: there is no such file"),
            "{broken:#?}"
        );
    }

    #[test]
    fn percent_signs_are_read_as_bytes() {
        assert_eq!(decoded("a%20%C3%A9.md"), "a é.md");
        assert_eq!(decoded("100%"), "100%");
    }
}
