//! `docs/contracts.md` as data: each sentence, and what proves it; and the kit's cases, each with the contracts it proves.
//!
//! Sentences and proofs are written by hand, and held to the traits and the kit in both directions by
//! `contracts.rs`. The list of cases is made by [`page`] when the book is built, so that it is never older than the kit.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "the test uses one part, the program that writes the other"
)]

mod cases;
mod page;

pub use cases::{known, parts};
pub use page::page;

/// A sentence of the page, and what proves it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The heading it stands under.
    pub under: String,
    /// The sentence.
    pub text: String,
    /// Cases in backticks, tests behind a link, or what is not proved yet.
    pub proofs: Vec<String>,
    /// The patterns of cases among the proofs.
    pub patterns: Vec<String>,
}

impl Item {
    /// Returns true if the case of this name is among the proofs.
    pub fn is_proved_by(&self, case: &str) -> bool {
        self.patterns.iter().any(|pattern| is_like(case, pattern))
    }
}

/// The sentences of the page of contracts, in order.
pub fn items(page: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut under = String::new();
    for line in page.lines() {
        let last = items.last_mut();
        if line.starts_with('#') {
            line.trim_start_matches('#').trim().clone_into(&mut under);
        } else if let Some(text) = line.strip_prefix("* ") {
            let (proofs, patterns) = Default::default();
            items.push(Item { under: under.clone(), text: text.into(), proofs, patterns });
        } else if let (Some(proof), Some(item)) = (line.strip_prefix("  * "), last) {
            item.proofs.push(proof.to_owned());
        } else if let (Some(more), Some(item)) = (line.strip_prefix("  "), items.last_mut()) {
            let text = item.proofs.last_mut().unwrap_or(&mut item.text);
            *text = format!("{text} {}", more.trim());
        }
    }
    // Once, and not for each of thousands of cases.
    for item in &mut items {
        let cases = item.proofs.iter().filter(|proof| !proof.contains("]("));
        item.patterns = cases.flat_map(|proof| quoted(proof)).map(ToOwned::to_owned).collect();
    }
    items
}

/// Returns true if `name` is what `pattern` says, where `*` is anything.
pub fn is_like(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            name.char_indices().any(|(at, _)| is_like(&name[at..], rest)) || is_like("", rest)
        }),
    }
}

/// Every second part, between backticks.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}
