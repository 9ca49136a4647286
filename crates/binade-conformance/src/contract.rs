//! Sentences of `docs/contracts.md`, and the cases that prove them.

use std::{fmt, sync::LazyLock};

/// A sentence of a contract.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sentence {
    /// Trait that states it under "For implementers", or the heading above it in `docs/contracts.md`.
    pub of: &'static str,
    /// The promise.
    pub says: &'static str,
}

impl Sentence {
    /// Returns the sentences that the case named `case` proves, in the order of `docs/contracts.md`.
    pub fn proved_by(case: &str) -> Vec<Self> {
        let is_proved = |entry: &&Entry| entry.cases.iter().any(|pattern| is_like(case, pattern));
        let proved = PAGE.iter().filter(is_proved);
        proved.map(|entry| Self { of: entry.of, says: &entry.says }).collect()
    }
}

/// A sentence of the page, and patterns of the names of cases that prove it.
struct Entry {
    of: &'static str,
    says: String,
    cases: Vec<&'static str>,
}

/// The page as packaged with the kit: `contracts.md` is a symbolic link, which `cargo package` follows. In a checkout without symbolic links, reports
/// name no sentences.
static PAGE: LazyLock<Vec<Entry>> = LazyLock::new(|| entries(include_str!("../contracts.md")));

/// Returns an entry for each bullet under a heading. The bullets below it are its proofs; those without a link name cases in backticks.
fn entries(page: &'static str) -> Vec<Entry> {
    let mut of = "";
    let mut entries: Vec<Entry> = Vec::new();
    let mut is_case = None;
    for line in page.lines() {
        if line.starts_with('#') {
            of = line.trim_start_matches('#').trim();
        } else if let Some(says) = line.strip_prefix("* ") {
            entries.push(Entry { of, says: says.to_owned(), cases: Vec::new() });
            is_case = None;
        } else if let (Some(more), Some(entry)) = (line.strip_prefix("  "), entries.last_mut()) {
            if more.starts_with("* ") {
                is_case = Some(!more.contains("]("));
            }
            match is_case {
                None => entry.says.extend([" ", more.trim()]),
                Some(true) => entry.cases.extend(more.split('`').skip(1).step_by(2)),
                Some(false) => {}
            }
        }
    }
    entries
}

impl fmt::Display for Sentence {
    /// Prints `Autocast: …`; for the trait of a user's own tensor, "your `AmpTensor::cast` …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = self.says.strip_prefix('`').filter(|_| self.of == AMP_TENSOR) {
            return write!(f, "your `{AMP_TENSOR}::{method}");
        }
        write!(f, "{}: {}", self.of, self.says)
    }
}

/// Trait of a user's own tensor. `HostDevice` keeps all other contracts for it.
pub(crate) const AMP_TENSOR: &str = "AmpTensor";

/// Returns true if `name` matches `pattern`, in which `*` stands for any text.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    name.strip_prefix(start).is_some_and(|name| {
        let mut ends = (0..=name.len()).filter_map(|at| name.get(at..));
        ends.any(|end| is_like(end, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_is_like_several_patterns_of_a_sentence_proves_it_once() {
        let mut proved = Sentence::proved_by("norm/f16/elements_of_1e25_do_not_overflow");
        proved.retain(|sentence| sentence.of != "AmpTensor");
        let [sentence] = proved[..] else { panic!("{proved:?}") };
        assert_eq!(sentence.of, "GradOps");
        assert!(sentence.to_string().starts_with("GradOps: Norms are accumulated so that"));
        assert_eq!(Sentence::proved_by("norm"), []);
    }

    #[test]
    fn a_pattern_leaves_open_what_it_has_a_star_for() {
        for (name, pattern) in [("a/b", "a/b"), ("a/b/c", "a/*"), ("a/b/c", "*/c"), ("é/b", "*b")]
        {
            assert!(is_like(name, pattern), "{name} {pattern}");
        }
        for (name, pattern) in [("a/b/c", "a/b"), ("a/b/c", "*/d"), ("a/b/c", "b*"), ("a", "a*a")] {
            assert!(!is_like(name, pattern), "{name} {pattern}");
        }
    }
}
