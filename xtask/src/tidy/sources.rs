//! Rules of single files: their length, their first line, `unsafe`, and paths of somebody's machine.

use crate::{
    house::UNSAFE_ALLOWED,
    tidy::{Issue, tree::Tree},
};

/// The most lines of a file: one that is longer hides an idea that has no name yet.
const MOST: usize = 400;

/// No file above 400 lines.
pub(super) fn length(tree: &Tree) -> Vec<Issue> {
    let sources = tree.with(&["rs", "cu", "cuh", "wgsl"]);
    let long = sources.map(|(path, text)| (path, text.lines().count())).filter(|it| it.1 > MOST);
    let why = |lines| format!("{lines} lines, at most {MOST}: divide it by ideas");
    long.map(|(path, lines)| Issue::new(path, lines, why(lines))).collect()
}

/// Every module says in its first line what it is for; a crate's root may say it with its README.
pub(super) fn module_docs(tree: &Tree) -> Vec<Issue> {
    let is_documented = |text: &str| {
        let words = text.lines().next().and_then(|line| line.strip_prefix("//!"));
        words.is_some_and(|words| !words.trim().is_empty())
            || text.starts_with("#![doc = include_str!(")
    };
    let bare = tree.with(&["rs"]).filter(|(_, text)| !is_documented(text));
    bare.map(|(path, _)| Issue::new(path, 1, "say in a first line `//! …` what the file is for"))
        .collect()
}

/// `unsafe` in the places that `house.rs` names alone.
pub(super) fn unsafe_code(tree: &Tree) -> Vec<Issue> {
    let is_allowed = |path: &str| {
        let mut rests = UNSAFE_ALLOWED.iter().filter_map(|place| path.strip_prefix(place));
        rests.any(|rest| rest.starts_with('/') || rest == ".rs")
    };
    // Parts of words, so that this file does not hold what it looks for.
    let uses = [" {", " fn", " impl", " extern", "(no_mangle"].map(|rest| format!("unsafe{rest}"));
    let is_use = |line: &str| {
        !line.trim_start().starts_with("//") && uses.iter().any(|it| line.contains(it))
    };
    let files = tree.with(&["rs"]).filter(|(path, _)| !is_allowed(path));
    lines(files, "unsafe here: only the places listed in xtask/src/house.rs may hold it", is_use)
}

/// First folders of paths that only one machine has.
const FOLDERS: [&str; 6] = ["Users", "home", "mnt", "root", "tmp", "work"];

/// No path of somebody's machine, in any text of the repository: it works there and nowhere else.
pub(super) fn machine_paths(tree: &Tree) -> Vec<Issue> {
    // What comes before tells a path's start from the middle of a longer path or of an address.
    let is_middle = |c: char| c.is_alphanumeric() || "_-./}*~:)".contains(c);
    let starts = FOLDERS.map(|folder| format!("/{folder}/"));
    let has_path = |line: &str| {
        let mut found = starts.iter().flat_map(|start| line.match_indices(start.as_str()));
        found.any(|(at, _)| !line[..at].ends_with(is_middle))
    };
    let files = tree.files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    lines(
        files,
        "a path of one machine: take it from the root, an argument or a variable",
        has_path,
    )
}

/// An issue for each line that is wrong.
fn lines<'t>(
    files: impl Iterator<Item = (&'t str, &'t str)>,
    why: &str,
    is_wrong: impl Fn(&str) -> bool,
) -> Vec<Issue> {
    let lines = files.flat_map(|(path, text)| {
        text.lines().enumerate().map(move |(at, line)| (path, at + 1, line))
    });
    lines
        .filter(|(.., line)| is_wrong(line))
        .map(|(path, at, _)| Issue::new(path, at, why))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{NONE, found};

    #[test]
    fn a_line_too_many_is_found_and_the_last_allowed_one_is_not() {
        let (good, bad) = ("\n".repeat(MOST), "\n".repeat(MOST + 1));
        assert_eq!(found(length, "a.cu", &bad), [MOST + 1]);
        assert_eq!([found(length, "a.rs", &good), found(length, "a.md", &bad)], [NONE; 2]);
    }

    #[test]
    fn a_file_whose_first_line_says_nothing_is_found() {
        for text in ["use std::fs;\n//! Late.\n", "//!\n", ""] {
            assert_eq!(found(module_docs, "a.rs", text), [1], "{text}");
        }
        let good = ["//! Files.\n", "#![doc = include_str!(\"../README.md\")]\n"];
        assert_eq!(good.map(|text| found(module_docs, "a.rs", text)), [NONE; 2]);
    }

    #[test]
    fn unsafe_is_found_outside_the_list_and_beside_its_places() {
        let text = format!("// un{0}\nfn f() {{\n    un{0}\n}}\n", "safe { g() }");
        let found = |path| found(unsafe_code, path, &text);
        assert_eq!(["tests/a.rs", "crates/binade-cpu/src/simd_like.rs"].map(found), [[3]; 2]);
        assert_eq!(found("crates/binade-cpu/src/simd/fma.rs"), NONE);
    }

    #[test]
    fn a_path_of_a_machine_is_found_and_a_path_from_the_root_or_an_address_is_not() {
        let found = |start| found(machine_paths, "a.md", &format!("{start}/{}/x", FOLDERS[3]));
        assert_eq!(["", "cd ", "P=\""].map(found), [[1]; 3]);
        assert_eq!(["target", "https://a.b", "~"].map(found), [NONE; 3]);
    }
}
