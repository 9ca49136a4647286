//! The guides in `docs/src/coming-from` can be compared, and name nothing that they do not compile; the book's chapters show no
//! output that no example asserts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const REFUSED: &str = " does that is refused here";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src/coming-from")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every guide by its file's name, without the page that lists them.
fn guides() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder()).expect("the guides' folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let mut names: Vec<_> = names.map(|name| name.expect("UTF-8")).collect();
    names.retain(|name| name != "index.md");
    names.sort();
    names.into_iter().map(|name| (name.clone(), read(&folder().join(name)))).collect()
}

/// Pages that an example's own doc tests run, and its own tests hold to what they show.
const ELSEWHERE: [(&str, &str); 1] =
    [("your-own-tensor.md", "../examples/your_own_tensor/src/lib.rs")];

/// Where the page of this name is run, seen from this package.
fn run_by(name: &str) -> &'static str {
    ELSEWHERE.iter().find(|(own, _)| *own == name).map_or("src/lib.rs", |(_, file)| file)
}

/// The book's pages, without those that only include another.
fn chapters() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder().join("..")).expect("the book's folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let pages = paths.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    pages.map(|path| (name(&path).expect("a name"), read(&path))).collect()
}

/// A page's code blocks, and everything else.
fn code_and_prose(text: &str) -> (String, String) {
    let (mut code, mut prose) = (String::new(), String::new());
    for (place, part) in text.split("```").enumerate() {
        if place % 2 == 1 { &mut code } else { &mut prose }.push_str(part);
    }
    (code, prose)
}

fn sections(prose: &str) -> Vec<&str> {
    prose.lines().filter_map(|line| line.strip_prefix("## ")).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The words of `code` that are called or looked up: after `.` or `::`, or before `(`.
fn calls(code: &str) -> Vec<&str> {
    let ends =
        |word: &str, at: usize| (code[..at].chars().last(), code[at + word.len()..].chars().next());
    let words = code.split(|c| !is_word(c)).filter(|word| word.starts_with(char::is_alphabetic));
    let places = words.map(|word| (word, word.as_ptr() as usize - code.as_ptr() as usize));
    let called = places
        .filter(|&(word, at)| matches!(ends(word, at), (Some('.' | ':'), _) | (_, Some('('))));
    called.map(|(word, _)| word).collect()
}

/// Returns what stands between backquotes in a table's columns but the first, which is the other library's.
fn ours(prose: &str) -> Vec<&str> {
    let rows = prose.lines().filter(|line| line.starts_with('|'));
    let cells = rows.flat_map(|row| row.split('|').skip(2));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect()
}

#[test]
fn all_guides_have_the_same_sections_in_the_same_order() {
    let all = guides();
    assert_eq!(all.len(), 6);
    let pages: Vec<_> = all.iter().map(|(name, text)| (name, code_and_prose(text).1)).collect();
    let first = sections(&pages[0].1);
    for (name, prose) in &pages {
        let (last, others) =
            sections(prose).split_last().map(|(l, o)| (*l, o.to_vec())).expect("sections");
        assert_eq!(others, first[..first.len() - 1], "{name}");
        assert!(last.ends_with(REFUSED), "{name}: {last}");
    }
}

#[test]
fn every_call_that_a_table_names_is_compiled_in_the_same_guide() {
    for (name, text) in guides() {
        let (code, prose) = code_and_prose(&text);
        let known: BTreeSet<_> = code.split(|c| !is_word(c)).collect();
        let named: Vec<_> = ours(&prose).into_iter().flat_map(calls).collect();
        assert!(named.len() > 20, "{name}: only {named:?}");
        let missing: Vec<_> = named.into_iter().filter(|call| !known.contains(call)).collect();
        assert!(missing.is_empty(), "{name} names {missing:?} and compiles no use of them");
    }
}

#[test]
fn every_guide_is_a_doc_test_and_is_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let lists =
        [root.join("src/lib.rs"), folder().join("index.md"), folder().join("../../SUMMARY.md")];
    for list in lists {
        let text = read(&list);
        for (name, _) in guides() {
            assert!(text.contains(&name), "{} does not name {name}", list.display());
        }
    }
}

/// The blocks of code that are marked as `language`.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

#[test]
fn every_chapter_with_rust_in_it_is_a_doc_test() {
    let mut count = 0;
    for (name, text) in chapters().into_iter().filter(|(_, text)| text.contains("```rust")) {
        assert_eq!(
            text.matches("```rust").count(),
            blocks(&text, "rust").len(),
            "{name}: one is not run"
        );
        let file = run_by(&name);
        let lib = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file));
        let included = format!("../docs/src/{name}\")]");
        assert!(lib.contains(&included), "{name} is no doc test of {file}");
        count += 1;
    }
    assert!(count >= 10, "only {count} chapters");
}

#[test]
fn every_output_that_a_chapter_shows_is_asserted_beside_it() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut count = 0;
    let own = |name: &str| run_by(name) == "src/lib.rs";
    for (name, text) in chapters().into_iter().filter(|(name, _)| own(name)) {
        let rust = words(&blocks(&text, "rust").concat());
        for output in blocks(&text, "text") {
            let output = words(output);
            assert!(rust.contains(&format!("\"{output}\"")), "{name} asserts no `{output}`");
            count += 1;
        }
    }
    assert!(count >= 4, "only {count} outputs");
}
