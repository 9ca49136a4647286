//! Writes the page of cases, or the kit's table of sentences, to standard output: `cargo xtask contracts` puts them where they belong.
//!
//! An example, and no binary, so that the replay of traces is built without the kit.

#[path = "../tests/kit/mod.rs"]
mod kit;

const CONTRACTS: &str = include_str!("../../docs/contracts.md");

fn main() {
    let items = kit::items(CONTRACTS);
    match std::env::args().nth(1).as_deref() {
        Some("table") => print!("{}", kit::table(&items)),
        _ => print!("{}", kit::page(&kit::known(), &items)),
    }
}
