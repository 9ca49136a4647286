//! Writes the page of cases to standard output: `cargo xtask contracts` puts it where it belongs.
#![forbid(unsafe_code)]

use binade_tests::contracts::{items, known, page};

const CONTRACTS: &str = include_str!("../../../docs/contracts.md");

fn main() {
    print!("{}", page(&known(), &items(CONTRACTS)));
}
