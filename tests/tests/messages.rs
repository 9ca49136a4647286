//! The page by error message quotes what the library prints.

use std::fs;
use std::path::Path;

/// All Rust text below `folder`, with strings that a backslash continues put together.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let file = fs::read_to_string(path).unwrap();
            let mut pieces = file.split("\\\n");
            text.push_str(pieces.next().unwrap());
            pieces.for_each(|piece| text.push_str(piece.trim_start()));
        }
    }
}

/// Messages in the first column of a row: text in backticks as a whole, which the compiler's own words are not.
fn quoted(row: &str) -> Option<&str> {
    let cell = row.strip_prefix("| `")?.split(" | ").next()?;
    cell.strip_suffix('`').filter(|words| !words.contains('`'))
}

#[test]
fn every_message_of_the_page_is_printed_by_a_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut text = String::new();
    for entry in fs::read_dir(root.join("crates")).unwrap() {
        sources(&entry.unwrap().path().join("src"), &mut text);
    }
    let page = fs::read_to_string(root.join("docs/src/messages.md")).unwrap();
    let messages: Vec<_> = page.lines().filter_map(quoted).collect();
    assert!(messages.len() > 25, "{} messages", messages.len());
    let missing: Vec<_> = messages.iter().filter(|message| !text.contains(**message)).collect();
    assert!(missing.is_empty(), "printed by no crate: {missing:#?}");
}

#[test]
fn quotes_are_the_rows_whose_first_cell_is_one_span() {
    assert_eq!(quoted("| `no such rule` | a | b |"), Some("no such rule"));
    assert_eq!(quoted("| no method named `step` | a | b |"), None);
    assert_eq!(quoted("|---|---|---|"), None);
}
