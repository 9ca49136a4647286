//! The backend's committed PTX on the interpreter itself, with no driver between.

mod far;
mod known;

use std::{fs, path::Path};

/// The names and texts of the backend's PTX, sorted by name.
fn committed() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../binade-cuda/ptx");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_ptx = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "ptx");
    let one = |path: std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    let mut all: Vec<_> = paths.filter(is_ptx).map(one).collect();
    all.sort();
    assert!(!all.is_empty(), "the folder holds no PTX");
    all
}
