//! The kit's own copy of the page of contracts: sentences and the cases that prove them, and nothing that is proved by tests.

use super::Item;
use std::fmt::Write as _;

const HEAD: &str = "Written by `cargo xtask contracts` from docs/contracts.md: sentences of contracts, and the cases that prove each.\n";

/// The table, of these sentences.
pub fn table(items: &[Item]) -> String {
    let mut table = HEAD.to_owned();
    let mut under = "";
    for item in items.iter().filter(|item| item.patterns().next().is_some()) {
        if item.under != under {
            under = &item.under;
            let _ = write!(table, "\n# {under}\n");
        }
        let _ = writeln!(table, "* {}", item.text);
        for pattern in item.patterns() {
            let _ = writeln!(table, "  {pattern}");
        }
    }
    table
}
