//! Claims of each page, in one program, and the list of pages in the README.

#![allow(dead_code, reason = "a page has a `main` of its own")]

#[path = "../examples/accumulation.rs"]
mod accumulation;
#[path = "../examples/clipping.rs"]
mod clipping;
#[path = "../examples/convergence.rs"]
mod convergence;
#[path = "../examples/critic.rs"]
mod critic;
#[path = "../examples/custom_dtype.rs"]
mod custom_dtype;
#[path = "../examples/custom_op.rs"]
mod custom_op;
#[path = "../examples/exponents.rs"]
mod exponents;
#[path = "../examples/gradient_penalty.rs"]
mod gradient_penalty;
#[path = "../examples/lost_updates.rs"]
mod lost_updates;
#[path = "../examples/multi_tensor.rs"]
mod multi_tensor;
#[path = "../examples/multiple_models.rs"]
mod multiple_models;
#[path = "../examples/muon.rs"]
mod muon;
#[path = "../examples/policy_overrides.rs"]
mod policy_overrides;
#[path = "../examples/several_devices.rs"]
mod several_devices;
#[path = "../examples/two_losses.rs"]
mod two_losses;
#[path = "../examples/typical_training.rs"]
mod typical_training;

use std::collections::BTreeSet;

#[test]
fn the_readme_lists_every_page_with_its_command() {
    let readme = include_str!("../README.md");
    let prefix = "cargo run -p binade-example-pages --example ";
    let commands = readme.lines().filter_map(|line| line.strip_prefix(prefix).map(str::to_owned));
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let pages: BTreeSet<_> =
        files.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(commands.collect::<BTreeSet<_>>(), pages);
    for page in pages {
        assert!(readme.contains(&format!("[`{page}`](examples/{page}.rs)")), "{page}");
    }
}
