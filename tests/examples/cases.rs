//! Writes the list of cases to standard output: `bash .ci/book` puts it on its page.
//!
//! An example, and no binary, so that the replay of traces is built without the kit.

#[path = "../tests/kit/mod.rs"]
mod kit;

const CONTRACTS: &str = include_str!("../../docs/contracts.md");

fn main() {
    print!("{}", kit::page(&kit::known(), &kit::items(CONTRACTS)));
}
