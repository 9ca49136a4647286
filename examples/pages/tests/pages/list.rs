//! The list of pages in the README equals the pages in the folder.

use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_readme_lists_every_page_with_its_command() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = include_str!("../../README.md");
    let commands = readme.lines().filter_map(|line| {
        line.strip_prefix("cargo run -p binade-example-pages --example ").map(str::to_owned)
    });
    let files = std::fs::read_dir(root.join("examples")).unwrap();
    let pages: BTreeSet<_> = files
        .map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(!pages.is_empty());
    assert_eq!(commands.collect::<BTreeSet<_>>(), pages);
    for page in pages {
        assert!(readme.contains(&format!("[`{page}`](src/{page}.rs)")), "{page}");
        assert!(root.join(format!("src/{page}.rs")).is_file(), "{page}");
    }
}
