//! Committed PTX of the backend on the interpreter itself, with no driver between.

mod far;

use binade_ptx::Module;
use lzma_rust2::LzmaReader;
use std::{fs::File, io::Read, path::Path};

/// Returns the names and texts of the backend's PTX, sorted by name.
fn committed() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../binade-cuda/ptx/kernels.ptx.lzma");
    let packed = File::open(path).unwrap();
    let mut text = String::new();
    LzmaReader::new_mem_limit(packed, u32::MAX, None).unwrap().read_to_string(&mut text).unwrap();
    let modules = text.split("//// ").filter_map(|module| module.split_once('\n'));
    let all: Vec<_> = modules.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    assert!(!all.is_empty(), "the file holds no PTX");
    all
}

#[test]
fn the_committed_ptx_parses_whole_and_is_reproducible() {
    for (name, text) in committed() {
        let module = Module::parse(&text).unwrap_or_else(|error| panic!("{name}.ptx: {error}"));
        assert!(module.entries().count() > 0, "{name}.ptx has no entry");
    }
}
